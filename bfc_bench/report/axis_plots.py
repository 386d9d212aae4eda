"""The part of a report on the axes of grids: N* and the error at the largest n against each axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bfc_bench.analysis.curves import Curve, CurvePoint
from bfc_bench.analysis.scaling import on_axis, scalings
from bfc_bench.report import marks
from bfc_bench.report.drawing import Drawing, Mark
from bfc_bench.report.page_figures import PageFigure, for_page
from bfc_bench.report.plots import LEARNER, thresholds_against
from bfc_bench.report.style import Styles, assign
from bfc_bench.report.tables import ReportTable, TableCell, exponent_cells, listing

COLUMNS = {"task": "task", "d": "d", "name": "learner", "level": "level", "exponent": "s", "range": "values",
           "points": "points", "note": "method"}  # fmt: skip
NOTE = (
    "The slope of log N* over the tested values with its 95 % interval, at one d and one value of every other axis. "
    "Points: known thresholds + bounds."
)


@dataclass(frozen=True)
class AxisSection:
    """What a report shows of one axis."""

    axis: str
    pictures: Sequence[PageFigure]
    exponents: ReportTable


def axis_sections(curves: Sequence[Curve], levels: Sequence[float], styles: Styles) -> list[AxisSection]:
    """The figures and exponents of each axis on which two values or more have results, in order of appearance."""
    sections = []
    for axis in dict.fromkeys(axis for curve in curves for axis in curve.axes):
        along = [c for c in curves if axis in c.axes and any(values for _, values in marks.measured(c))]
        if len({on_axis(curve.axes[axis]) for curve in along}) > 1:
            sections.append(_section(axis, along, levels, styles))
    return sections


def _section(axis: str, curves: Sequence[Curve], levels: Sequence[float], styles: Styles) -> AxisSection:
    families = [curve.family(axis)[2] for curve in curves]
    styles = {label: style for label, style in styles.items() if label in families}
    styles = {**styles, **assign(label for label in families if label not in styles)}
    growth = scalings(curves, levels, axis)
    sizes = thresholds_against(growth, styles)
    errors = errors_against(curves, axis, styles)
    pictures = [
        for_page(sizes, f"N* against {axis}", f"thresholds-axis-{axis}"),
        for_page(errors, f"error at the largest n against {axis}", f"errors-axis-{axis}"),
    ]
    lines = [
        {"task": scaling.task, "d": scaling.d, "name": TableCell(scaling.label, kind="text")} | exponent_cells(scaling)
        for scaling in growth
        if len(scaling.measured_dims) > 1
    ]
    return AxisSection(axis, pictures, listing(f"Exponents s of N* ∝ {axis}ˢ", lines, COLUMNS, NOTE))


def errors_against(curves: Sequence[Curve], axis: str, styles: Styles | None = None) -> Drawing:
    """Draw the error at the largest n against an axis, one panel per task and d.

    The marker is the mean over replicates with its 95 % interval, the dots are replicates.
    """
    panels: dict[str, dict[str, dict[Any, tuple[CurvePoint, list[float]]]]] = {}
    for curve in curves:
        task, d, label = curve.family(axis)
        of_label = panels.setdefault(f"{task}, d = {d}", {}).setdefault(label, {})
        if points := [(point, values) for point, values in marks.measured(curve) if values]:
            of_label[on_axis(curve.axes[axis])] = points[-1]
    largest = [part for by_label in panels.values() for parts in by_label.values() for part in parts.values()]
    name = f"{marks.metric_names(curves)} at the largest n"
    y = marks.error_axis(curves, name, [value for _, values in largest for value in values])
    figure, placed = marks.side_by_side(axis, panels, y, styles)
    means = [at | {"n": point.n} | marks.mean("error", point, values) for at, (point, values) in placed]
    tooltip = LEARNER | {"value": axis, "n": "n", "error": name, "interval": "interval", "replicates": "replicates"}
    looks = (marks.INTERVAL_BAR, marks.CURVE, Mark(marks.MARKER, shape=True, tooltip=tooltip))
    dots = marks.add_points(figure, means, *looks, tooltip=LEARNER | {"value": axis, "error": name})
    mean = " or ".join(dict.fromkeys(curve.mean_in_words for curve in curves))
    figure.notes = [
        f"Marker: {mean} of the replicates with its 95 % interval. {dots}",
        "The largest n may differ between values and learners.",
    ]
    return figure
