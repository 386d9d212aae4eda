"""The part of a report on the axes of grids: N* and the error at the largest n against each axis.

Shapes: R replicates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling, ascending, on_axis, scalings
from bfc_bench.report.axis import Positions, log_axis
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.gallery import Gallery, Picture
from bfc_bench.report.layout import ReportTable, TableCell, estimate, listing
from bfc_bench.report.plots import BAR, LINE, MARKER, METRIC_NAMES, add_replicates, linear_axis, thresholds_against
from bfc_bench.report.style import Styles, assign, in_order
from bfc_bench.report.tables import MISSING, interval_text, number

COLUMNS = {
    "task": "task",
    "d": "d",
    "name": "learner",
    "level": "level",
    "exponent": "s",
    "range": "values",
    "points": "points",
    "note": "method",
}
NOTE = (
    "The slope of log N* over the tested values with its 95 % interval, at one d and one value of every other axis. "
    "Points: known thresholds + bounds."
)


@dataclass(frozen=True)
class AxisSection:
    """What a report shows of one axis."""

    axis: str
    pictures: Sequence[Picture]
    exponents: ReportTable


def axis_sections(
    curves: Sequence[Curve], levels: Sequence[float], gallery: Gallery, styles: Styles
) -> list[AxisSection]:
    """The figures and exponents of each axis that has two values or more, in order of appearance."""
    sections = []
    for axis in dict.fromkeys(axis for curve in curves for axis in curve.axes):
        along = [curve for curve in curves if axis in curve.axes]
        if len({on_axis(curve.axes[axis]) for curve in along}) > 1:
            sections.append(_section(axis, along, levels, gallery, styles))
    return sections


def _section(
    axis: str, curves: Sequence[Curve], levels: Sequence[float], gallery: Gallery, styles: Styles
) -> AxisSection:
    families = [curve.family(axis)[2] for curve in curves]
    styles = {label: style for label, style in styles.items() if label in families}
    styles = {**styles, **assign(label for label in families if label not in styles)}
    found = scalings(curves, levels, axis)
    figures = {
        f"N* against {axis}": (thresholds_against(found, f"N* against {axis}", styles), f"thresholds-axis-{axis}"),
        f"error at the largest n against {axis}": (
            errors_against(curves, axis, f"Error at the largest n against {axis}", styles),
            f"errors-axis-{axis}",
        ),
    }
    pictures = [gallery.add(figure, title, stem) for title, (figure, stem) in figures.items()]
    lines = [_line(scaling) for scaling in found if len(scaling.measured_dims) > 1]
    return AxisSection(axis, pictures, listing(f"Exponents s of N* ∝ {axis}ˢ", lines, COLUMNS, NOTE))


def _line(scaling: Scaling) -> dict[str, Any]:
    fit = scaling.exponent
    return {
        "task": TableCell(scaling.task, kind="text"),
        "d": TableCell(str(scaling.d)),
        "name": TableCell(scaling.label, kind="text"),
        "level": TableCell(f"{METRIC_NAMES.get(scaling.metric, scaling.metric)} ≤ {scaling.level:g}"),
        "exponent": estimate(fit.value, fit.lo, fit.hi, digits=3),
        "range": TableCell(MISSING if fit.refused else f"{fit.dims[0]}..{fit.dims[-1]}"),
        "points": TableCell(f"{fit.uncensored} + {fit.censored}"),
        "note": "; ".join(filter(None, [fit.method, fit.refused or fit.note])),
    }


def errors_against(curves: Sequence[Curve], axis: str, title: str = "", styles: Styles | None = None) -> Drawing:
    """Draw the error at the largest n against an axis, one panel per task and d.

    The marker is the mean over replicates with its 95 % interval, the dots are replicates.
    """
    groups: dict[tuple[str, Any], dict[str, dict[Any, Curve]]] = {}
    for curve in curves:
        task, d, label = curve.family(axis)
        groups.setdefault((task, d), {}).setdefault(label, {})[on_axis(curve.axes[axis])] = curve
    labels = in_order((label for by_label in groups.values() for label in by_label), styles)
    styles = styles or assign(labels)
    positions = Positions.on("x", axis, [on_axis(curve.axes[axis]) for curve in curves])
    largest = {id(curve): _at_largest_n(curve) for curve in curves}
    metrics = dict.fromkeys(METRIC_NAMES.get(curve.metric, curve.metric) for curve in curves)
    name, values = f"{' / '.join(metrics)} at the largest n", [value for at in largest.values() for value in at.values]
    linear = any(curve.scale == "linear" for curve in curves)
    y = linear_axis("error", name, values) if linear else log_axis("error", name, values, most=9)
    panels = {(task, d): f"{task}, d = {d}" for task, d in groups}
    figure = Drawing(positions.axis, y, list(panels.values()), styles, title)
    means: list[Record] = []
    places: list[tuple[Record, Sequence[float]]] = []
    for (task, d), by_label in groups.items():
        for index, label in enumerate(label for label in labels if label in by_label):
            for value, curve in ascending(by_label[label]).items():
                at = largest[id(curve)]
                place = {"panel": panels[task, d], "label": label, "x": positions(value, index - (len(labels) - 1) / 2)}
                places.append((place, at.values))
                if at.values:
                    words = interval_text(at.lo, at.hi)
                    mean = place | {axis: value, "n": at.n, "error": at.mean, "interval": words}
                    means.append(mean | {"from": at.lo, "to": at.hi})
        figure.descriptions.append(_in_words(task, d, axis, by_label, largest))
    dots = add_replicates(figure, places, "error")
    figure.put("mean", means)
    figure.draw("mean", BAR, fields={"y": "from", "y2": "to"})
    figure.draw("mean", LINE, dash=True)
    names = {"label": "learner", axis: axis, "n": "n", "error": name, "interval": "interval"}
    figure.draw("mean", MARKER, shape=True, tooltip=names)
    figure.labels = labels
    figure.notes = [
        f"Marker: mean of the replicates with its 95 % interval. {dots}",
        "The largest n may differ between values and learners.",
    ]
    return figure


@dataclass(frozen=True)
class _Largest:
    """A curve at its largest n with a value."""

    n: int = 0
    mean: float = math.nan
    lo: float = math.nan
    hi: float = math.nan
    values: tuple[float, ...] = ()


def _at_largest_n(curve: Curve) -> _Largest:
    measured = np.flatnonzero(np.isfinite(curve.values).any(axis=0))
    if not measured.size:
        return _Largest()
    k = int(measured[-1])
    values = curve.scaled[:, k] if curve.scale == "linear" else np.exp(curve.scaled[:, k])
    interval = curve.intervals[k]
    known = tuple(values[np.isfinite(values)].tolist())
    return _Largest(int(curve.n[k]), interval.mean, interval.lo, interval.hi, known)


def _in_words(
    task: str, d: Any, axis: str, by_label: Mapping[str, Mapping[Any, Curve]], largest: Mapping[int, _Largest]
) -> str:
    """A description of a panel."""
    parts = []
    for label, by_value in by_label.items():
        known = {value: at for value, curve in by_value.items() if (at := largest[id(curve)]).values}
        if texts := [f"{number(at.mean)} at {axis} = {value} (n = {at.n:,})" for value, at in known.items()]:
            parts.append(f"{label} {', '.join(texts)}")
    return f"Error at the largest n on {task}, d = {d}: {'; '.join(parts) or 'no values'}."
