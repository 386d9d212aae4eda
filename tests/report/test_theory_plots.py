"""What theory says in the report: dashed over the measured curves, which it does not move, and in the tables."""

import math

import numpy as np
import pytest

from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.learner import Theory
from bfc_bench.report import plots, theory_plots
from bfc_bench.report.html import write_report
from bfc_bench.report.style import assign
from bfc_bench.store.row import Row

DIMS, SIZES = (6, 8, 12), (16, 32, 64, 128, 256)
STYLES = assign(["a", "b"])
THEORIES = {("t", d, "a"): Theory(lambda n, d=d: d**2 / (d**2 + n), "this file") for d in DIMS}
"""N*(.5) = d^2."""


def cell(d, n, replicate, label):
    error = 1.1 ** (replicate - 1) * d**2 / (d**2 + n)
    return Row(
        cell=f"{label}-{d}-{n}-{replicate}", suite="s", suite_version=1, task="t", learner="l", label=label,
        options={}, d=d, n=n, replicate=replicate, status="ok", nmse=error,
    )  # fmt: skip


ROWS = [cell(d, n, r, label) for d in DIMS for n in SIZES for r in range(3) for label in ("a", "b")]


def theory(figure):
    return [record for record in figure.records if record["part"] == "theory"]


@pytest.mark.parametrize("theories", [THEORIES, {("t", 8, "a"): Theory(lambda n: math.nan, "")}])
def test_learning_curves_have_a_dashed_line_per_theory_and_keep_their_axes(theories):
    found = curves(ROWS)
    figure = plots.learning_curves(found, styles=STYLES)
    before = figure.x.domain, figure.y.domain
    theory_plots.add_theory(figure, found, theories)
    assert (figure.x.domain, figure.y.domain) == before
    drawn = theory(figure)
    if theories is not THEORIES:
        assert not drawn  # nan has no place
        return
    assert {record["panel"] for record in drawn} == {f"d = {d}" for d in DIMS}
    line = [record for record in drawn if record["panel"] == "d = 8"]
    n = np.array([record["n"] for record in line])
    np.testing.assert_allclose([record["error"] for record in line], 64 / (64 + n), rtol=1e-5)
    assert (n[[0, -1]] == (16, 256)).all()
    assert {record["label"] for record in line} == {"a"}
    assert "Thin dashes without markers: theory, no free parameter." in figure.notes


def test_figures_without_a_theory_are_as_they_were():
    found = curves(ROWS)
    for metric_curves, theories in ((found, {}), (curves(ROWS, "nmse_trimmed"), THEORIES)):
        figure = plots.learning_curves(metric_curves, styles=STYLES)
        before = figure.spec()
        theory_plots.add_theory(figure, metric_curves, theories)
        assert figure.spec() == before


def test_n_star_is_drawn_against_d():
    found = scalings(curves(ROWS), [0.5])
    figure = plots.thresholds_against(found, styles=STYLES)
    theory_plots.add_expected_n_star(figure, found, THEORIES)
    line = theory(figure)
    assert [record["x"] for record in line] == list(DIMS)
    np.testing.assert_allclose([record["N*"] for record in line], np.square(DIMS), rtol=1e-5)
    assert {record["panel"] for record in line} == set(figure.panels)


def test_the_tables_have_n_star_and_the_exponent_of_the_theory_or_else_of_the_harmonics(tmp_path):
    target = {"kind": "lowrank-poly", "degree": 2}
    suite = {"name": "s", "task": [{"name": "t", "inputs": {"kind": "sphere"}, "target": target}]}
    page = write_report(tmp_path, suite=suite, rows=ROWS, levels=(0.5,), theories=THEORIES).read_text()
    for text in ("theory 36", "theory 64", "theory 144", ">2.00<", "B(d, 2): 1.94"):
        assert text in page
    assert page.count("B(d, 2): 1.94") == 1  # label b has no theory
    assert "theory 36" not in write_report(tmp_path, suite=suite, rows=ROWS, levels=(0.5,)).read_text()
