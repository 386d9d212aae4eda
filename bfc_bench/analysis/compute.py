"""Error against a cost: curves by operations, CPU seconds or parameters, their lower envelope, and the least cost of a
level.

Shapes: R replicates, K sample sizes, P points of all curves.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import t_interval
from bfc_bench.analysis.thresholds import NStars, thresholds
from bfc_bench.errors import UsageError, suggest
from bfc_bench.store.export import FlatRecord
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows

CostName: TypeAlias = Literal["fit_flops", "fit_cpu_seconds", "parameters"]
"""Columns of rows that are costs: declared operations of the fit, its CPU time, declared parameters."""
COSTS: tuple[CostName, ...] = get_args(CostName)
IN_WORDS: dict[str, str] = {"fit_flops": "FLOPs", "fit_cpu_seconds": "CPU s", "parameters": "parameters"}


@dataclass(frozen=True, eq=False)
class CostCurve:
    """One metric of one learner on one task at one d, against what its fits cost."""

    curve: Curve
    """The curve against n, at the K sizes whose cost is known."""
    cost: CostName
    costs: np.ndarray
    """Geometric mean of the cost over replicates, (K,)."""

    @property
    def by_cost(self) -> Curve | None:
        """The curve with the cost in the place of n; None if costs do not rise with n.

        A size that costs no more than a smaller one replaces it.
        """
        rising = np.array([cost < self.costs[k + 1 :].min(initial=math.inf) for k, cost in enumerate(self.costs)])
        return replace(self.curve.at(rising), n=self.costs[rising]) if rising.sum() > 1 else None


def cost_curves(rows: Iterable[Row], curves: Iterable[Curve], cost: CostName) -> list[CostCurve]:
    """The curves against a cost, at the shared sizes whose cost is known, and without curves that have no such size."""
    if cost not in COSTS:
        raise UsageError(f"a cost must be one of {', '.join(COSTS)}. Got {cost!r}.{suggest(cost, COSTS)}")
    groups = Rows.of(rows).where(status="ok").groups("task", "d", "label")
    cost_points = []
    for curve in curves:
        group = groups.get((curve.task, curve.d, curve.label))
        if group is None:
            continue
        values = group.number(cost)
        by_n = [values[(group.n == n) & (values > 0)] for n in curve.n]
        has_cost = curve.shared & [len(at_n) > 0 for at_n in by_n]
        if has_cost.any():
            means = [_geometric_mean(at_n) for at_n, keep in zip(by_n, has_cost, strict=True) if keep]
            cost_points.append(CostCurve(curve.at(has_cost), cost, np.array(means)))
    return cost_points


def _geometric_mean(costs: np.ndarray) -> float:
    """The geometric mean of positive costs; without rounding if they are equal, so that equal costs stay equal."""
    return float(costs[0] if (costs == costs[0]).all() else np.exp(np.log(costs).mean()))


def least_costs(curves: Iterable[CostCurve], levels: Sequence[float]) -> list[NStars]:
    """The least cost of each level for each curve whose cost rises with n, found as ``thresholds`` finds N*.

    Raises ``UsageError`` if a level is not positive.
    """
    by_cost = [(of.cost, curve) for of in curves if (curve := of.by_cost) is not None]
    return [replace(reached, cost=cost) for cost, curve in by_cost for reached in thresholds([curve], levels)]


@dataclass(frozen=True, slots=True)
class FrontierPoint(FlatRecord):
    """The least error that any learner has at a cost or below it."""

    task: str
    d: int
    metric: str
    cost: CostName
    at: float
    """The cost."""
    label: str
    """The learner with the least mean error."""
    n: int
    """Its sample size."""
    error: float
    lo: float
    hi: float
    replicates: int


def frontier(curves: Sequence[CostCurve]) -> list[FrontierPoint]:
    """The lower envelope of curves of one metric, task, d and cost, at the cost of each of their points.

    A point (learner, n) counts if every replicate has a value, of those that were tried along all curves. The best
    point is the one with the least mean. Its error is not that mean, which is too low because it was chosen as the
    lowest: for each replicate the best point is chosen by the others, and the error is the mean (``Curve.averaged``) of
    what the replicates have at these points, with its t-interval. Errors that may be negative have no frontier.
    """
    shown = [of for of in curves if of.curve.scale == "log"]
    tried = [np.array(of.curve.replicates)[of.curve.has_enough_sizes].tolist() for of in shown]
    replicates = sorted(set.intersection(*map(set, tried))) if tried else []
    points = []
    for of in shown:
        values = of.curve.of_replicates(replicates).averaged
        points += [
            (float(cost), of.curve.name, int(n), column)
            for cost, n, column in zip(of.costs, of.curve.n, values.T, strict=True)
            if np.isfinite(column).all()
        ]
    if not (points and replicates):
        return []
    points.sort(key=lambda point: point[:3])
    costs = [cost for cost, *_ in points]
    errors = np.array([log_errors for *_, log_errors in points])  # (P, R)
    means, total = errors.mean(axis=1), errors.sum(axis=1)
    by_others = (total[:, None] - errors) / (len(replicates) - 1) if len(replicates) > 1 else errors
    place, found = (shown[0].curve.task, shown[0].curve.d, shown[0].curve.metric, shown[0].cost), []
    for at in dict.fromkeys(costs):
        affordable = bisect_right(costs, at)
        _, label, n, _ = points[int(means[:affordable].argmin())]
        chosen = by_others[:affordable].argmin(axis=0)
        error = t_interval(errors[chosen, np.arange(len(replicates))]).exp()
        found.append(FrontierPoint(*place, at, label, n, error.mean, error.lo, error.hi, error.count))
    return found


def frontiers(curves: Sequence[CostCurve]) -> list[FrontierPoint]:
    """The frontier of each (task, d), in the order of the curves."""
    places = dict.fromkeys((of.curve.task, of.curve.d) for of in curves)
    return [
        point for place in places for point in frontier([of for of in curves if (of.curve.task, of.curve.d) == place])
    ]


def shown_cost(rows: Iterable[Row]) -> CostName:
    """``fit_flops`` if two learners or more declare them for some of these rows, else ``fit_cpu_seconds``."""
    ok = Rows.of(rows).where(status="ok")
    declared = {label for (label,), group in ok.groups("label").items() if (group.number("fit_flops") > 0).any()}
    return "fit_flops" if len(declared) > 1 else "fit_cpu_seconds"
