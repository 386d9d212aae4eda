"""Draws error against what fits cost, with the frontier of all learners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bfc_bench.analysis.compute import CostCurve, CostName, FrontierPoint, frontier
from bfc_bench.report.axis import log_axis
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.plots import BAND, LINE, MARKER, METRIC_NAMES
from bfc_bench.report.style import FAINT, Styles, assign, in_order
from bfc_bench.report.tables import interval_text

AXES: dict[CostName, str] = {
    "fit_flops": "operations of the fit, FLOPs",
    "fit_cpu_seconds": "CPU time of the fit, s",
    "parameters": "parameters of the predictor",
}


def error_against_cost(curves: Sequence[CostCurve], title: str = "", styles: Styles | None = None) -> Drawing:
    """Draw error against one cost, one panel per (task, d): geometric means with 95 % intervals, and the frontier."""
    labels = in_order((of.curve.label for of in curves), styles)
    styles = styles or assign(labels)
    several = len({of.curve.task for of in curves}) > 1
    panels = {
        (of.curve.task, of.curve.d): f"{of.curve.task}, d = {of.curve.d}" if several else f"d = {of.curve.d}"
        for of in curves
    }
    metric = METRIC_NAMES.get(curves[0].curve.metric, curves[0].curve.metric)
    x = log_axis("cost", AXES[curves[0].cost], [cost for of in curves for cost in of.costs], most=6)
    y = log_axis("error", metric, [value for of in curves for value in of.curve.mean], most=9)
    figure = Drawing(x, y, list(panels.values()), styles, title)
    steps: list[Record] = []
    points: list[Record] = []
    for (task, d), panel in panels.items():
        shown = [of for of in curves if (of.curve.task, of.curve.d) == (task, d)]
        best = frontier(shown)
        end = max(float(of.costs[-1]) for of in shown)
        steps += [record | {"panel": panel} for record in _frontier(best, end)]
        points += [record | {"panel": panel} for of in shown for record in _points(of)]
        figure.descriptions.append(_in_words(task, d, shown, best))
    edges = {"y": "lo", "y2": "hi"}
    grey = {"interpolate": "step-after", "color": FAINT}
    figure.put("frontier", steps)
    figure.draw("frontier", BAND | grey, fields=edges, opacity=0.18)
    figure.draw("frontier", LINE | grey | {"strokeWidth": 5}, opacity=0.6)
    figure.put("mean", points)
    figure.draw("mean", BAND, fields=edges, opacity=0.13)
    figure.draw("mean", LINE, dash=True)
    names = {"label": "learner", "n": "n", "cost": AXES[curves[0].cost], "error": metric, "interval": "interval"}
    figure.draw("mean", MARKER, shape=True, tooltip=names)
    figure.labels = labels
    figure.notes = [
        "One marker per n: geometric mean of the replicates at the mean cost. Band: its 95 % interval.",
        "Grey line: frontier, the least error of all learners at that cost or below; band: its 95 % interval.",
    ]
    return figure


def _frontier(points: Sequence[FrontierPoint], end: float) -> list[Record]:
    """The frontier as steps that continue to the largest cost."""
    steps: list[Record] = [{"cost": p.at, "error": p.error, "lo": p.lo, "hi": p.hi} for p in points]
    return [*steps, steps[-1] | {"cost": max(end, points[-1].at)}] if steps else []


def _points(of: CostCurve) -> list[Record]:
    curve, known = of.curve, np.isfinite(of.curve.mean)
    records: list[Record] = []
    for k in np.flatnonzero(known)[np.argsort(of.costs[known], kind="stable")].tolist():
        lo, hi = float(curve.lo[k]), float(curve.hi[k])
        record: Record = {"label": curve.label, "n": int(curve.n[k]), "cost": float(of.costs[k])}
        record |= {"error": float(curve.mean[k]), "lo": lo, "hi": hi, "interval": interval_text(lo, hi)}
        records.append(record)
    return records


def _in_words(task: str, d: int, curves: Sequence[CostCurve], points: Sequence[FrontierPoint]) -> str:
    """A description of a panel."""
    metric = METRIC_NAMES.get(curves[0].curve.metric, curves[0].curve.metric)
    new = [point for before, point in zip([None, *points], points, strict=False) if not _is_same(before, point)]
    steps = [f"{point.error:.2g} from {point.at:.2g} on with {point.label}, n = {point.n:,}" for point in new]
    return f"{metric} against {AXES[curves[0].cost]} on {task}, d = {d}. Frontier: {'; '.join(steps) or 'no values'}."


def _is_same(before: FrontierPoint | None, point: FrontierPoint) -> bool:
    """Whether the same learner at the same n is the best."""
    return before is not None and (before.label, before.n) == (point.label, point.n)
