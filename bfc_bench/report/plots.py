"""Draws the figures of a report: learning curves, thresholds against d, feature errors by stage.

All axes are logarithmic, except those of errors that may be negative.
"""

import math
from collections.abc import Sequence

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling, ascending
from bfc_bench.analysis.thresholds import NStars
from bfc_bench.report import marks
from bfc_bench.report.axis import Axis, Positions, log_axis
from bfc_bench.report.drawing import ARROW_DOWN, ARROW_UP, CROSS, Drawing, Mark, Record
from bfc_bench.report.style import Styles, in_order
from bfc_bench.report.tables import metric_name, sample_size

LEARNER = {"label": "learner"}
WIDER = 4.0
"""Ends of intervals are drawn up to this factor beyond the N* of all replicates."""


def learning_curves(curves: Sequence[Curve], styles: Styles | None = None) -> Drawing:
    """Draw error against n, one panel per (task, d): geometric mean, 95 % t-interval, each replicate.

    For more than ``MANY`` replicates, a bar from the 5 % to the 95 % quantile replaces the dots. Errors that may be
    negative, those in parts of the target, have a linear axis and arithmetic means. The axes span the measured values,
    so wide intervals, as for R = 2 or 3, extend beyond the panel. A size at which some replicates failed has an open
    marker; one at which all failed has a cross at the top.
    """
    panels, metric = marks.panels_of(curves), marks.metric_names(curves)
    points = [(curve, point, values) for curve in curves for point, values in marks.measured(curve)]
    sizes = sorted({float(n) for curve in curves for n in curve.n[curve.shared]})
    x = log_axis("n", "training points n", sizes, most=6, at=sizes, pad=0.04)
    y = marks.error_axis(curves, metric, [value for *_, values in points for value in values])
    figure = Drawing(x, y, panels.values(), [curve.label for curve, *_ in points], styles)
    means, lost = list[Record](), list[Record]()
    for curve, point, values in points:
        at = {"panel": panels[curve.task, curve.d], "label": curve.label, "n": point.n}
        failed = {"failed": point.failed} if point.failed else {}
        if not values:
            lost.append(at | failed | {"top": y.domain[1]})
            continue
        mean = {"error": point.mean, "values": values, "replicates": len(values)}
        means.append(at | failed | mean | marks.interval(point.lo, point.hi))
    tooltip = LEARNER | {"n": "n", "error": metric, "interval": "interval", "replicates": "replicates"}
    whole = Mark(marks.MARKER, shape=True, tooltip=tooltip, when="!datum.failed")
    part = Mark(marks.OPEN, shape=True, tooltip=tooltip | {"failed": "failed"}, when="datum.failed")
    looks = (marks.INTERVAL_BAND, marks.CURVE, whole, part)
    dots = marks.add_points(figure, means, *looks, tooltip=LEARNER | {"n": "n", "error": metric})
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


def thresholds_against(scalings: Sequence[Scaling], styles: Styles | None = None) -> Drawing:
    """Draw N*(eps) against d or another axis, one panel per level; along another axis also per task and d.

    The marker is the geometric mean over replicates with its 95 % interval, as in the table; there is none if all are
    censored. The dots are replicates. An arrow up is at the largest n of a replicate that did not reach the level, an
    arrow down at the smallest n of one that reached it there already.
    """
    axis = scalings[0].axis if scalings else "d"
    panels: dict[str, dict[str, Scaling]] = {}
    for scaling in scalings:
        panels.setdefault(panel_title(scaling), {})[scaling.label] = scaling
    values = ascending({d: None for scaling in scalings for d in scaling.measured_dims})
    name = "input dimension d" if axis == "d" else axis
    positions = Positions.on("x", name, list(values))
    sizes = [c.n for scaling in scalings for crossings in scaling.crossings.values() for c in crossings]
    reached = [of for scaling in scalings for of in scaling.thresholds.values() if of.replicates]
    ends = [end for threshold in reached for end in (threshold.interval.lo, threshold.interval.hi)]
    near = [end for end in ends if min(sizes) / WIDER <= end <= WIDER * max(sizes)]
    y = log_axis("N*", "N*, training points", [*sizes, *near], pad=0.14)
    labels = [scaling.label for scaling in scalings if scaling.measured_dims]
    figure = Drawing(positions.axis, y, panels, labels, styles)
    more, less, means = list[Record](), list[Record](), list[Record]()
    for panel, by_label in panels.items():
        of_panel = [label for label in figure.labels if label in by_label]
        for index, label in enumerate(of_panel):
            # Labels stand side by side at each d, so that equal thresholds and arrows stay visible.
            side = index - (len(figure.labels) - 1) / 2
            for d, threshold in by_label[label].thresholds.items():
                if not threshold.replicates:
                    continue
                at = {"panel": panel, "label": label, "x": positions(d, side), "value": d}
                more += [at | {"N*": size} for size in _sizes(threshold, "right")]
                less += [at | {"N*": size} for size in _sizes(threshold, "left")]
                means.append(at | {"values": _sizes(threshold, None)} | _marker(threshold))
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
        mean = {"P": point.mean, "values": values, "replicates": len(values)}
        means.append(at | mean | marks.interval(point.lo, point.hi))
    tooltip = LEARNER | {"stage": "stage", "P": "P", "interval": "interval", "replicates": "replicates"}
    joined = Mark({"type": "line", "strokeWidth": 1, "strokeDash": [2, 3]}, order="line")
    looks = (joined, Mark(marks.MARKER, shape=True, tooltip=tooltip))
    dots = marks.add_points(figure, means, *looks, across="x", tooltip=LEARNER | {"stage": "stage", "P": "P"})
    figure.notes = [f"Marker: geometric mean of the replicates. Line: stages of one learner. {dots}"]
    return figure
