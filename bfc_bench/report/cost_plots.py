"""Draws error against what fits cost, with the frontier of all learners."""

from collections.abc import Sequence

from bfc_bench.analysis.compute import CostCurve, CostName, frontiers
from bfc_bench.report import marks
from bfc_bench.report.axis import log_axis
from bfc_bench.report.drawing import Drawing, Mark, Record
from bfc_bench.report.style import FAINT, Styles

AXES: dict[CostName, str] = {"fit_flops": "operations of the fit, FLOPs", "fit_cpu_seconds": "CPU time of the fit, s"}
"""The axes of the costs that are shown (``analysis.compute.shown_cost``)."""


def error_against_cost(curves: Sequence[CostCurve], styles: Styles | None = None) -> Drawing:
    """Draw error against one cost, one panel per (task, d): geometric means with 95 % intervals, and the frontier."""
    against, metric = AXES[curves[0].cost], marks.metric_names(of.curve for of in curves)
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
    names = {"label": "learner", "n": "n", "cost": against, "error": metric, "interval": "interval"}
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
