"""The figure of error against cost, and what the report says of costs and laws."""

from dataclasses import replace

import pytest
from synthetic import DIMS, SIZES, rows

from bfc_bench.analysis.compute import cost_curves, frontier
from bfc_bench.analysis.curves import curves
from bfc_bench.report import plots
from bfc_bench.report.section import build
from bfc_bench.report.style import assign

LABELS = ("joint", "layerwise", "kernel poly-2 (squares)")


def declared(flops=lambda row: float(row.n**2 * row.d)):
    kept = [row for row in rows(tasks=("teacher-L3",)) if row.label in LABELS]
    return [replace(row, fit_flops=flops(row)) if row.status == "ok" else row for row in kept]


@pytest.fixture(scope="module")
def shown():
    made = declared()
    return cost_curves(made, curves(made), "fit_flops")


def test_each_dimension_has_a_panel_with_units_on_logarithmic_axes(shown):
    figure = plots.error_against_cost(shown)
    assert figure.panels == [f"d = {d}" for d in DIMS]
    assert (figure.x.log, figure.y.log) == (True, True)
    assert figure.x.title == "operations of the fit, FLOPs"
    assert sorted(figure.labels) == sorted(LABELS)


def test_the_grey_line_is_the_frontier(shown):
    figure = plots.error_against_cost(shown)
    line = [step for step in figure.records if (step["part"], step["panel"]) == ("frontier", f"d = {DIMS[1]}")]
    points = frontier([of for of in shown if of.curve.d == DIMS[1]])
    assert [step["cost"] for step in line] == [pytest.approx(point.at, rel=1e-5) for point in points]
    assert [step["error"] for step in line] == [pytest.approx(point.error, rel=1e-5) for point in points]


def test_a_learner_whose_cost_does_not_grow_has_one_point_and_equal_costs_no_picture(tmp_path):
    made = declared(lambda row: 1e6 if row.label == "joint" else 1e3 * row.n)
    figure = plots.error_against_cost(cost_curves(made, curves(made), "fit_flops"))
    points = [record["n"] for record in figure.records if (record["part"], record.get("label")) == ("mean", "joint")]
    assert points == [SIZES[-1]] * len(DIMS)
    section = build("t", declared(lambda row: 1e6 * row.d), {}, assign(LABELS), levels=[0.1])
    assert not any("against operations" in picture.title for picture in section.pictures)


@pytest.mark.parametrize(("flops", "cost"), [(lambda row: 1e3 * row.n**2, "FLOPs"), (lambda row: None, "CPU s")])
def test_the_report_shows_operations_if_they_are_declared_and_else_seconds(tmp_path, flops, cost):
    made, styles = declared(flops), assign(sorted(LABELS, reverse=True))
    section = build("teacher-L3", made, {}, styles, levels=[0.1])
    words = {"FLOPs": "operations of the fit", "CPU s": "CPU time of the fit"}[cost]
    assert f"NMSE against {words}" in [picture.title for picture in section.pictures]
    (table,) = [grid for grid in section.grids if grid.caption.startswith("N*, ")]
    assert [line[0].text for line in table.lines] == list(LABELS)  # by N*
    remarks = [remark for line in table.lines for cell in line for remark in cell.remarks]
    assert any(remark.endswith(f"] {cost}") for remark in remarks)


def test_the_table_of_laws_has_their_exponent_floor_and_checks(tmp_path):
    section = build("teacher-L3", declared(), {}, assign(LABELS), levels=[0.1])
    (table,) = [grid for grid in section.further if grid.caption.startswith("Laws: NMSE")]
    assert "Exponent b and floor c of one law" in table.note
    remarks = [cell.remarks for line in table.lines for cell in line if cell.remarks]
    assert any(floor.startswith("c = ") and checks[0].startswith("lack of fit p = ") for floor, *checks in remarks)
