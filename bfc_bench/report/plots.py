"""Draws the figures of a report: errors against n, costs and stages, and N* against d and other axes.

All axes are logarithmic, except those of errors that may be negative.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bfc_bench.analysis.compute import CostCurve, CostName, frontiers
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.thresholds import NStars
from bfc_bench.report import marks
from bfc_bench.report.axis import Axis, log_axis
from bfc_bench.report.drawing import ARROW_DOWN, ARROW_UP, CROSS, Drawing, Mark, Record
from bfc_bench.report.style import FAINT, Styles, in_order
from bfc_bench.report.tables import metric_name, sample_size
from bfc_bench.utils.legendre import harmonics_dimension

LEARNER = {"label": "learner"}
LEAST = -0.25
"""Lower end of the axis of R²; smaller values carry no information."""
COSTS: dict[CostName, str] = {"fit_flops": "operations of the fit, FLOPs", "fit_cpu_seconds": "CPU time of the fit, s"}
"""The axes of the costs that are shown (``analysis.compute.shown_cost``)."""
WIDER = 4.0
"""Ends of intervals are drawn up to this factor beyond the N* of all replicates."""


def learning_curves(
    curves: Sequence[Curve],
    styles: Styles | None = None,
    *,
    panels: Mapping[tuple[str, int], str] | None = None,
    y: Axis | None = None,
) -> Drawing:
    """Draw error against n, one panel per (task, d): geometric mean, 95 % t-interval, each replicate.

    For more than ``MANY`` replicates, a bar from the 5 % to the 95 % quantile replaces the dots. Errors that may be
    negative, those in parts of the target, have a linear axis and arithmetic means. The axes span the measured values,
    so wide intervals, as for R = 2 or 3, extend beyond the panel. A size at which some replicates failed has an open
    marker; one at which all failed has a cross at the top.
    """
    panels = panels or marks.panels_of(curves)
    points = [(curve, point, values) for curve in curves for point, values in marks.measured(curve)]
    sizes = sorted({float(n) for curve in curves for n in curve.n[curve.shared]})
    x = log_axis("n", "training points n", sizes, at=sizes, pad=0.04)
    y = y or marks.error_axis(curves, marks.metric_names(curves), [value for *_, values in points for value in values])
    figure = Drawing(x, y, panels.values(), [curve.label for curve, *_ in points], styles)
    means, lost = list[Record](), list[Record]()
    for curve, point, values in points:
        at = {"panel": panels[curve.task, curve.d], "label": curve.label, "n": point.n}
        failed = {"failed": point.failed} if point.failed else {}
        if not values:
            lost.append(at | failed | {"top": y.domain[1]})
            continue
        means.append(at | failed | marks.mean("error", point, values))
    tooltip = LEARNER | {"n": "n", "error": y.title, "interval": "interval", "replicates": "replicates"}
    whole = Mark(marks.MARKER, shape=True, tooltip=tooltip, when="!datum.failed")
    part = Mark(marks.OPEN, shape=True, tooltip=tooltip | {"failed": "failed"}, when="datum.failed")
    looks = (marks.INTERVAL_BAND, marks.CURVE, whole, part)
    dots = marks.add_points(figure, means, *looks, tooltip=LEARNER | {"n": "n", "error": y.title})
    cross = marks.stroke(CROSS) | {"clip": False}
    figure.add("all failed", lost, Mark(cross, {"y": "top"}, tooltip=LEARNER | {"n": "n", "failed": "failed"}))
    line = " or ".join(dict.fromkeys(curve.mean_in_words for curve in curves)) or "geometric mean"
    band = " or ".join(dict.fromkeys(curve.interval_in_words for curve in curves)) or "95 % t-interval"
    figure.notes = [f"Line: {line} of the replicates. Band: its {band}. {dots}"]
    if lost or any("failed" in record for record in means):
        figure.notes.append("Open marker: a replicate failed. Cross at the top: all failed.")
    if missing := dict.fromkeys(curve.label for curve in curves if curve.label not in figure.labels):
        figure.notes.append(f"No values (see the skips): {', '.join(in_order(missing, styles))}.")
    return figure


def degree_curves(curves: Mapping[int, Sequence[Curve]]) -> Drawing:
    """Draw R² of each degree of a target on the sphere against n, with a line at n = B(d, degree).

    ``curves`` are those of 1 - R² by degree. Each d and learner has a panel; values below ``LEAST`` lie outside of it.
    """
    shown = [
        replace(curve, task=curve.label, label=f"degree {degree}", values=1 - curve.values)
        for degree, of_degree in curves.items()
        for curve in of_degree
    ]
    panels = {(of.task, of.d): f"{of.task}, d = {of.d}" for of in shown}
    figure = learning_curves(shown, panels=panels, y=Axis("error", "R² of the degree", (LEAST, 1.08), log=False))
    sizes = [
        {"panel": panels[of.label, of.d], "label": f"degree {degree}", "n": harmonics_dimension(of.d, degree)}
        for degree, of_degree in curves.items()
        for of in of_degree
    ]
    dotted = Mark(marks.BAR | {"strokeDash": [2, 3]}, {"y": ""}, tooltip={"label": "", "n": "B(d, k)"})
    figure.add("B(d, k)", sizes, dotted)
    figure.notes += [
        "Dotted: n = B(d, k), the number of harmonics of degree k.",
        f"R² is an unbiased estimate and may exceed 1; values below {LEAST:g} are not shown.",
    ]
    return figure


def thresholds_against(scalings: Sequence[Scaling], styles: Styles | None = None) -> Drawing:
    """Draw N*(eps) against d or another axis, one panel per level; along another axis also per task and d.

    The marker is the geometric mean over replicates with its 95 % interval, as in the table; there is none if all are
    censored. The dots are replicates. An arrow up is at the largest n of a replicate that did not reach the level, an
    arrow down at the smallest n of one that reached it there already.
    """
    axis = scalings[0].axis if scalings else "d"
    panels: dict[str, dict[str, dict[Any, NStars]]] = {}
    for scaling in scalings:
        reached = {value: found for value, found in scaling.thresholds.items() if found.replicates}
        panels.setdefault(panel_title(scaling), {})[scaling.label] = reached
    sizes = [c.n for scaling in scalings for crossings in scaling.crossings.values() for c in crossings]
    intervals = [of.interval for by_label in panels.values() for found in by_label.values() for of in found.values()]
    near = [end for of in intervals for end in (of.lo, of.hi) if min(sizes) / WIDER <= end <= WIDER * max(sizes)]
    y = log_axis("N*", "N*, training points", [*sizes, *near], pad=0.14)
    figure, placed = marks.side_by_side(axis, panels, y, styles)
    more = [at | {"N*": size} for at, of in placed for size in _sizes(of, "right")]
    less = [at | {"N*": size} for at, of in placed for size in _sizes(of, "left")]
    means = [at | {"values": _sizes(of, None)} | _marker(of) for at, of in placed]
    figure.add("more", more, Mark(marks.stroke(ARROW_UP, 40), tooltip=LEARNER | {"N*": "N* above"}))
    figure.add("less", less, Mark(marks.stroke(ARROW_DOWN, 40), tooltip=LEARNER | {"N*": "N* below"}))
    tooltip = LEARNER | {"value": axis, "interval": "N*"}
    looks = (marks.INTERVAL_BAR, marks.CURVE, Mark(marks.MARKER, shape=True, tooltip=tooltip))
    dots = marks.add_points(figure, means, *looks, tooltip=LEARNER | {"N*": "N*"})
    figure.notes = [
        f"Marker: geometric mean of the replicates with its 95 % interval. {dots}",
        "Arrow: a replicate needs more (up) or less (down) than that n.",
    ]
    return figure


def _marker(threshold: NStars) -> Record:
    """N* as the table has it: the mean with its interval, or nothing if it is only a bound."""
    interval, text = threshold.interval, " ".join(filter(None, sample_size(threshold)))
    lo, hi = (math.nan, math.nan) if math.isnan(interval.mean) else (interval.lo, interval.hi)
    return {"N*": interval.mean, "lo": lo, "hi": hi, "interval": text}


def _sizes(threshold: NStars, censored: str | None) -> list[float]:
    """The distinct N* of the replicates that are censored on this side, or not at all."""
    return sorted({float(crossing.n) for crossing in threshold.replicates if crossing.censored == censored})


def panel_title(scaling: Scaling) -> str:
    """The title of a panel of N*: metric and level and, along another axis than d, task and d."""
    place = "" if scaling.axis == "d" else f"{scaling.task}, d = {scaling.d}: "
    return f"{place}{metric_name(scaling.metric)} ≤ {scaling.level:g}"


def error_against_cost(curves: Sequence[CostCurve], styles: Styles | None = None) -> Drawing:
    """Draw error against one cost, one panel per (task, d): geometric means with 95 % intervals, and the frontier."""
    against, metric = COSTS[curves[0].cost], marks.metric_names(of.curve for of in curves)
    panels = marks.panels_of(of.curve for of in curves)
    x = log_axis("cost", against, [cost for of in curves for cost in of.costs], most=6)
    y = log_axis("error", metric, [value for of in curves for value in of.curve.mean], most=9)
    figure = Drawing(x, y, panels.values(), [of.curve.label for of in curves], styles)
    steps = [
        {"panel": panels[best.task, best.d], "cost": best.at, "error": best.error, "lo": best.lo, "hi": best.hi}
        for best in frontiers(curves)
    ]
    means = [{"panel": panels[of.curve.task, of.curve.d]} | record for of in curves for record in _means(of)]
    grey = {"interpolate": "step-after", "color": FAINT}
    band = Mark(marks.BAND | grey, marks.ENDS, opacity=0.18)
    figure.add("frontier", steps, band, Mark(marks.LINE | grey | {"strokeWidth": 5}, opacity=0.6))
    names = LEARNER | {"n": "n", "cost": against, "error": metric, "interval": "interval"}
    figure.add("mean", means, marks.INTERVAL_BAND, marks.CURVE, Mark(marks.MARKER, shape=True, tooltip=names))
    figure.notes = [
        "One marker per n, the largest of those at one cost: geometric mean of replicates. Band: its 95 % interval.",
        "Grey line: frontier, the least error of all learners at that cost or below; band: its 95 % interval.",
    ]
    return figure


def _means(of: CostCurve) -> list[Record]:
    """The means of a curve by ascending cost, in which its line is drawn; of several n at one cost the largest."""
    costs = dict(zip(of.curve.n.tolist(), of.costs.tolist(), strict=True))
    by_cost = {costs[point.n]: point for point in of.curve.points if point.replicates}
    return [
        {"label": of.curve.label, "n": point.n, "cost": cost, "error": point.mean} | marks.interval(point.lo, point.hi)
        for cost, point in sorted(by_cost.items())
    ]


def feature_errors(curves: Sequence[Curve], styles: Styles | None = None) -> Drawing:
    """Draw the relative Procrustes errors P of hidden features after each stage, one panel per d and layer.

    ``curves`` are those of the features after each stage, at one size each (``stages.at_largest_n``).

    Each learner and stage has a line of its own, so that many learners at one error stay apart; the marker is the
    geometric mean, the dots are replicates, and the stages of a learner are joined.
    """
    labels = in_order((curve.label for curve in curves), styles)
    lines = list(dict.fromkeys((label, of.stage_name) for label in labels for of in curves if of.label == label))
    layers = [curve.metric.partition(".")[2] for curve in curves]
    panels = {(of.d, layer): f"{layer}, d = {of.d}" for of, layer in zip(curves, layers, strict=True)}
    points = [point for curve in curves for point in marks.measured(curve)]
    x = log_axis("P", "feature error P (relative)", [value for _, values in points for value in values])
    names = [f"{label} · {stage}" for label, stage in lines]
    y = Axis("line", "", (len(lines) - 0.4, -0.6), list(range(len(lines))), names, log=False)
    height, columns = 30 + 22 * max(3, len(lines)), max(1, len({layer for _, layer in panels}))
    figure = Drawing(x, y, panels.values(), labels, styles, columns=columns, height=height)
    means = list[Record]()
    for curve, layer, (point, values) in zip(curves, layers, points, strict=True):
        line, stage = lines.index((curve.label, curve.stage_name)), curve.stage_name
        at = {"panel": panels[curve.d, layer], "label": curve.label, "line": line, "stage": stage}
        means.append(at | marks.mean("P", point, values))
    tooltip = LEARNER | {"stage": "stage", "P": "P", "interval": "interval", "replicates": "replicates"}
    joined = Mark({"type": "line", "strokeWidth": 1, "strokeDash": [2, 3]}, order="line")
    looks = (joined, Mark(marks.MARKER, shape=True, tooltip=tooltip))
    dots = marks.add_points(figure, means, *looks, across="x", tooltip=LEARNER | {"stage": "stage", "P": "P"})
    figure.notes = [f"Marker: geometric mean of the replicates. Line: stages of one learner. {dots}"]
    return figure
