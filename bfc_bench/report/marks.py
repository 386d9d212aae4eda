"""What the figures of a report share: looks of marks, panels and axes of curves, means with intervals, replicates.

Shapes: R replicates, K sample sizes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bfc_bench.analysis.curves import Curve, CurvePoint
from bfc_bench.analysis.scaling import ascending
from bfc_bench.report.axis import Axis, log_axis, positions_on
from bfc_bench.report.drawing import Drawing, Mark, Record
from bfc_bench.report.style import Styles
from bfc_bench.report.tables import interval_text, metric_name

T = TypeVar("T")
MANY = 20
"""Up to so many replicates are drawn as dots; of more, the range of most of them is drawn."""
MOST = (0.05, 0.95)
"""The quantiles between which most replicates lie."""
LINE: dict[str, Any] = {"type": "line", "strokeWidth": 2}
BAND: dict[str, Any] = {"type": "area"}
BAR: dict[str, Any] = {"type": "rule", "strokeWidth": 1.5}
WIDE_BAR: dict[str, Any] = {"type": "rule", "strokeWidth": 5}
DOT: dict[str, Any] = {"type": "point", "filled": True, "shape": "circle", "size": 9}
MARKER: dict[str, Any] = {"type": "point", "filled": True, "size": 48}
OPEN: dict[str, Any] = {"type": "point", "filled": True, "fill": "#ffffff", "size": 60, "strokeWidth": 1.5}
ENDS = {"y": "lo", "y2": "hi"}
CURVE = Mark(LINE, dash=True)
INTERVAL_BAND, INTERVAL_BAR = Mark(BAND, ENDS, opacity=0.13), Mark(BAR, ENDS, opacity=0.6)


def stroke(path: str, size: float = 60) -> dict[str, Any]:
    """The look of a marker that has no surface."""
    return {"type": "point", "filled": False, "shape": path, "size": size, "strokeWidth": 1.8}


def panels_of(curves: Iterable[Curve]) -> dict[tuple[str, int], str]:
    """Titles of one panel per (task, d), by d within a task."""
    found = dict.fromkeys((curve.task, curve.d) for curve in curves)
    tasks = list(dict.fromkeys(task for task, _ in found))
    places = sorted(found, key=lambda place: (tasks.index(place[0]), place[1]))
    return {(task, d): f"{task}, d = {d}" if len(tasks) > 1 else f"d = {d}" for task, d in places}


def metric_names(curves: Iterable[Curve]) -> str:
    """The metrics of curves, for an axis."""
    return " / ".join(dict.fromkeys(metric_name(curve.metric) for curve in curves)) or "NMSE"


def error_axis(curves: Iterable[Curve], title: str, values: Iterable[float]) -> Axis:
    """An axis for errors: logarithmic, or linear if they may be negative."""
    if all(curve.scale == "log" for curve in curves):
        return log_axis("error", title, values, most=9)
    finite = [value for value in values if np.isfinite(value)] or [0.0, 1.0]
    margin = 0.05 * (max(finite) - min(finite)) or 0.5
    return Axis("error", title, (min(finite) - margin, max(finite) + margin), log=False)


def measured(curve: Curve) -> Iterator[tuple[CurvePoint, list[float]]]:
    """The points of a curve, each with the values that are averaged."""
    values = curve.values if curve.scale == "linear" else np.exp(curve.log_values)
    for point in curve.points:
        column = values[:, np.searchsorted(curve.n, point.n)]
        yield point, column[np.isfinite(column)].tolist()


def interval(lo: float, hi: float) -> Record:
    """The fields of an interval."""
    return {"lo": lo, "hi": hi, "interval": interval_text(lo, hi)}


def mean(field: str, point: CurvePoint, values: list[float]) -> Record:
    """The fields of a mean over replicates, which is in ``field``, and of its interval."""
    return {field: point.mean, "values": values, "replicates": len(values)} | interval(point.lo, point.hi)


def side_by_side(
    axis: str, panels: Mapping[str, Mapping[str, Mapping[Any, T]]], y: Axis, styles: Styles | None
) -> tuple[Drawing, list[tuple[Record, T]]]:
    """A figure of parts by panel, label and value on an axis, without marks, and the fields of the place of each part.

    Labels stand side by side at each value, so that equal ones stay visible.
    """
    values = ascending({value: None for by_label in panels.values() for parts in by_label.values() for value in parts})
    x, position = positions_on("x", "input dimension d" if axis == "d" else axis, list(values))
    labels = [label for by_label in panels.values() for label, parts in by_label.items() if parts]
    figure = Drawing(x, y, panels, labels, styles)
    placed = []
    for panel, by_label in panels.items():
        for index, label in enumerate(label for label in figure.labels if label in by_label):
            side = index - (len(figure.labels) - 1) / 2
            for value, part in ascending(by_label[label]).items():
                placed.append(({"panel": panel, "label": label, "x": position(value, side), "value": value}, part))
    return figure, placed


def add_points(
    figure: Drawing, points: Sequence[Record], *marks: Mark, tooltip: Mapping[str, str], across: str = "y"
) -> str:
    """Draw points and the replicates of each: dots, or a bar over most of them if they are more than ``MANY``.

    ``points`` are records with the ``values`` of their replicates, which lie along the axis ``across``; ``marks`` show
    the records themselves. Returns the note that explains the dots.
    """
    field, other = (figure.y.field, figure.x.field) if across == "y" else (figure.x.field, figure.y.field)
    fields = {"panel", "label", other, *tooltip} - {field}
    dots, ranges = list[Record](), list[Record]()
    for point in points:
        place, values = {name: of for name, of in point.items() if name in fields}, point["values"]
        if len(values) > MANY:
            ranges.append(place | dict(zip(("lo", "hi"), np.quantile(values, MOST).tolist(), strict=True)))
        else:
            dots += [place | {field: value} for value in values]
    figure.add("most replicates", ranges, Mark(WIDE_BAR, {across: "lo", f"{across}2": "hi"}, opacity=0.25))
    figure.add("replicate", dots, Mark(DOT, opacity=0.45, tooltip=tooltip))
    figure.add("mean", ({name: of for name, of in point.items() if name != "values"} for point in points), *marks)
    beyond = f"; wide bar: from the 5 % to the 95 % quantile, for more than {MANY} replicates" * bool(ranges)
    return f"Dots: replicates{beyond}."
