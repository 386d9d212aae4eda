"""Draws error against what fits cost, with the frontier of all learners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from bfc_bench.analysis.compute import CostCurve, CostName, FrontierPoint, frontier
from bfc_bench.report.plots import METRIC_NAMES, Markers, in_order, name_axes
from bfc_bench.report.style import FAINT, INK, Drawing, Style, Styles, add_title_and_legend, assign, grid, log_axis

AXES: dict[CostName, str] = {
    "fit_flops": "operations of the fit, FLOPs",
    "fit_cpu_seconds": "CPU time of the fit, s",
    "parameters": "parameters of the predictor",
}
FRONTIER = FAINT


def error_against_cost(
    curves: Sequence[CostCurve], title: str = "", styles: Styles | None = None, *, width: float | None = None
) -> Drawing:
    """Draw error against one cost, one panel per (task, d): geometric means with 95 % intervals, and the frontier.

    Args:
        curves: Curves of one metric against one cost, one or more, whose errors have logarithms.
        title: Title above the panels.
        styles: Styles by label, in the order of the legend; new ones by default.
        width: Width of a panel in inches.
    """
    panels = list(dict.fromkeys((of.curve.task, of.curve.d) for of in curves))
    labels = in_order((of.curve.label for of in curves), styles)
    styles = styles or assign(labels)
    figure, axes = grid(len(panels), columns=min(3, len(panels)), width=width)
    log_axis(axes[0].xaxis, [cost for of in curves for cost in of.costs], most=6)
    log_axis(axes[0].yaxis, [value for of in curves for value in of.curve.mean], most=9)
    several = len({task for task, _ in panels}) > 1
    for panel, (task, d) in zip(axes, panels, strict=True):
        shown = [of for of in curves if (of.curve.task, of.curve.d) == (task, d)]
        best = frontier(shown)
        _frontier(panel, best, max(float(of.costs[-1]) for of in shown))
        for of in shown:
            _curve(panel, of, styles[of.curve.label])
        figure.descriptions[panel] = _in_words(task, d, shown, best)
        panel.set_title(f"{task}, d = {d}" if several else f"d = {d}", loc="left", y=1.0, fontsize=10.5, color=INK)
    metric = curves[0].curve.metric
    name_axes(axes, AXES[curves[0].cost], METRIC_NAMES.get(metric, metric))
    notes = [
        "One marker per n: geometric mean of the replicates at the mean cost. Band: its 95 % interval.",
        "Grey line: frontier, the least error of all learners at that cost or below; band: its 95 % interval.",
    ]
    add_title_and_legend(figure, title, labels, styles, notes)
    return figure


def _frontier(panel: Axes, points: Sequence[FrontierPoint], end: float) -> None:
    """The frontier as steps that continue to the largest cost."""
    if not points:
        return
    x = np.array([*(point.at for point in points), max(end, points[-1].at)])
    error, lo, hi = np.array([(p.error, p.lo, p.hi) for p in [*points, points[-1]]]).T
    panel.fill_between(x, lo, hi, step="post", color=FRONTIER, alpha=0.18, linewidth=0)
    panel.plot(x, error, drawstyle="steps-post", color=FRONTIER, linewidth=4.5, alpha=0.6, solid_capstyle="butt")


def _curve(panel: Axes, of: CostCurve, style: Style) -> None:
    known = np.isfinite(of.curve.mean)
    order = np.flatnonzero(known)[np.argsort(of.costs[known], kind="stable")]
    x, mean, lo, hi = of.costs[order], of.curve.mean[order], of.curve.lo[order], of.curve.hi[order]
    band = np.isfinite(lo)
    panel.fill_between(x[band], lo[band], hi[band], color=style.colour, alpha=0.13, linewidth=0)
    Markers(panel, style.colour)(x, mean, style.marker, linestyle=style.line, linewidth=1.7)


def _in_words(task: str, d: int, curves: Sequence[CostCurve], points: Sequence[FrontierPoint]) -> str:
    """A description of a panel."""
    metric = METRIC_NAMES.get(curves[0].curve.metric, curves[0].curve.metric)
    new = [point for before, point in zip([None, *points], points, strict=False) if not _is_same(before, point)]
    steps = [f"{point.error:.2g} from {point.at:.2g} on with {point.label}, n = {point.n:,}" for point in new]
    return f"{metric} against {AXES[curves[0].cost]} on {task}, d = {d}. Frontier: {'; '.join(steps) or 'no values'}."


def _is_same(before: FrontierPoint | None, point: FrontierPoint) -> bool:
    """Whether the same learner at the same n is the best."""
    return before is not None and (before.label, before.n) == (point.label, point.n)
