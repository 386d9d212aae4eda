"""Figures of targets on the sphere, and what tables say of theory."""

import re

import numpy as np
from synthetic import SUITE, row

from bfc_bench.analysis.curves import curves
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.theory import harmonics_slope
from bfc_bench.learner import Theory
from bfc_bench.report import plots
from bfc_bench.report.html import write_report
from bfc_bench.utils.legendre import harmonics_dimension

DIMS, SIZES = (6, 8, 12), (20, 40, 80, 160, 320, 640, 1280)
TARGET = {"kind": "lowrank-poly", "degree": 3}


def cells(task="pure"):
    """NMSE 2 B(d, 3) / n up to 10 %, and errors per degree that fall at B(d, k)."""
    rng = np.random.default_rng(0)
    bases = {"joint": 0.1, "kernel ntk (raw)": 1.0}
    factors = {(x, d, r): bases[x] * np.exp(0.1 * rng.standard_normal()) for x in bases for d in DIMS for r in range(3)}
    return [
        row(
            task=task, label=label, d=d, n=n, replicate=r, nmse=2 * factor * harmonics_dimension(d, 3) / n,
            part_errors=parts(d, n, r) if task == "stairs" else {},
        )
        for (label, d, r), factor in factors.items()
        for n in SIZES
    ]  # fmt: skip


NOISE = (-0.1, 0.04, 0.06)
"""Of an estimate in each replicate, without bias: small errors come out negative in one."""


def parts(d, n, replicate):
    return {f"degree{k}": 1 / (1 + n / harmonics_dimension(d, k)) + NOISE[replicate] for k in (1, 2)}


def of(figure, part):
    return [record for record in figure.records if record["part"] == part]


def test_degrees_have_a_line_each_and_a_mark_at_their_dimension():
    figure = plots.degree_curves({k: curves(cells("stairs"), f"part_errors.degree{k}") for k in (1, 2)})
    assert figure.panels == [f"{label}, d = {d}" for d in DIMS for label in ("joint", "kernel ntk (raw)")]
    panel = "joint, d = 12"
    marks = [record["n"] for record in of(figure, "B(d, k)") if record["panel"] == panel]
    assert marks == [harmonics_dimension(12, k) for k in (1, 2)]
    means = [
        record["error"] for record in of(figure, "mean") if (record["panel"], record["label"]) == (panel, "degree 1")
    ]
    np.testing.assert_allclose(means, [1 - 1 / (1 + n / 12) for n in SIZES], rtol=1e-5)


def test_the_report_shows_both_and_the_theory_in_the_table(tmp_path):
    suite = SUITE | {
        "task": [
            {"name": "pure", "inputs": {"kind": "sphere"}, "target": TARGET, "d": DIMS, "n": SIZES},
            {"name": "stairs", "inputs": {"kind": "sphere"}, "target": {"kind": "staircase", "degree": 2}},
        ],
        "claim": [{"id": "x", "kind": "exponent", "label": "joint", "task": "pure", "asymptotic": 3.0}],
    }
    page = write_report(tmp_path, suite=suite, rows=[*cells(), *cells("stairs")], levels=(0.5,)).read_text()
    figures = set(re.findall(r'id="figure-([^"]+)"', page))
    assert {"thresholds-pure", "degrees-stairs"} <= figures
    assert not {"degrees-pure", "features-stairs"} & figures
    scaling, _ = scalings(curves(cells()), (0.5,))
    assert f"B(d, 3): {harmonics_slope(scaling.exponent.dims, 3):.3g}" in page
    assert "asymptotically 3" in page
    assert "error in degree2" in page
    assert "P of degree" not in page


def test_the_report_shows_the_arithmetic_mean_of_errors_in_parts_of_the_target(tmp_path):
    errors = (0.010, 0.020, -0.001, 0.015, 0.012)
    suite = {"name": "s", "task": [{"name": "stairs", "target": {"kind": "staircase", "degree": 2}}]}
    rows = [row(task="stairs", nmse=0.1, replicate=r, part_errors={"degree2": e}) for r, e in enumerate(errors)]
    page = write_report(tmp_path, suite=suite, rows=rows).read_text()
    cell = page[page.index("error in degree2") :]
    assert '0.011<small class="interval">[0.0015, 0.021]</small>' in cell


def test_the_tables_have_n_star_and_the_exponent_of_the_theory_or_else_of_the_harmonics(tmp_path):
    rows = [
        row(task="t", label=label, d=d, n=n, replicate=r, nmse=1.1 ** (r - 1) * d**2 / (d**2 + n))
        for d in DIMS for n in (16, 32, 64, 128, 256) for r in range(3) for label in ("joint", "grow")
    ]  # fmt: skip
    theories = {("t", d, "joint"): Theory(lambda n, d=d: d**2 / (d**2 + n), "this file") for d in DIMS}  # N*(.5) = d^2
    target = {"kind": "lowrank-poly", "degree": 2}
    suite = {"name": "s", "task": [{"name": "t", "inputs": {"kind": "sphere"}, "target": target}]}
    page = write_report(tmp_path, suite=suite, rows=rows, levels=(0.5,), theories=theories).read_text()
    for text in ("theory 36", "theory 64", "theory 144", "<td>2</td>", "B(d, 2): 1.94"):
        assert text in page
    assert page.count("B(d, 2): 1.94") == 1  # the other learner has no theory
    assert "theory 36" not in write_report(tmp_path, suite=suite, rows=rows, levels=(0.5,)).read_text()
