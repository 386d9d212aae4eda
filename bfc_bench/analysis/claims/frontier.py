"""Claim kind ``frontier``: the exponent of the error against a cost along the lower envelope of several models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bfc_bench.analysis.claims.base import MetricName, Names, Near, in_words
from bfc_bench.analysis.claims.measures import Point, failure_notes
from bfc_bench.analysis.claims.verdict import Evidence, Verdict, evidence, nothing, short
from bfc_bench.analysis.compute import FRONTIER_COSTS, IN_WORDS, CostName, cost_curves, frontier_slopes
from bfc_bench.analysis.curves import curves_of, scale_of
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size


class FrontierClaim(Near):
    """The exponent s of error ~ cost^-s along the compute-optimal frontier is within bounds or near a number.

    The frontier is the least error at each cost over models of different size: learners, or one learner at several d.
    Each replicate has the points that the others choose, and one slope. Costs at which the smallest or the largest
    model, or an end of its sizes n, is best do not count, because the optimum may lie beyond them. Errors in parts of
    the target may be negative and have no logarithm, so a claim about them is undecided.
    """

    kind: ClassVar[str] = "frontier"
    label: Names
    """Labels of learners that differ in the size of the model, or one label on a task with several d."""
    task: str
    """Name of the task."""
    cost: CostName = "fit_flops"
    """The cost: ``fit_flops``, ``fit_cpu_seconds`` or ``parameters``."""
    d: Size | None = None
    """Input dimension; all d of the task by default."""
    metric: MetricName = "nmse"
    """The error."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """The labels."""
        return self.label

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task."""
        return (self.task,)

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """All n of the task, at d."""
        return [Point(self.task, self.d, None)]

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From one slope per replicate; failed cells leave both sides open."""
        statement = (
            f"The {in_words(self.metric)} on the frontier of {' and '.join(self.label)} falls with "
            f"{IN_WORDS[self.cost]} to a power that is {self.bound} ({Point(self.task, self.d, None)})."
        )
        return self.verdict(statement, self.region, self._evidence(rows), log=False)

    def _evidence(self, rows: Sequence[Row]) -> Evidence:
        if scale_of(self.metric) == "linear":
            return nothing(
                f"{self.metric} is an unbiased estimate that may be negative, so it has no logarithm and no frontier"
            )
        curves = [curve for name in self.predictors for curve in curves_of(rows, name, self.task, self.metric, self.d)]
        if not curves:
            return nothing(f"no {self.metric} on {self.task}, so no frontier")
        slopes, costs = frontier_slopes(cost_curves(rows, curves, self.cost))
        if not len(slopes):
            return nothing(
                f"the best model lies in the interior of the tested sizes at {len(costs)} costs, and "
                f"{FRONTIER_COSTS} are needed; add models or sizes n"
            )
        unsure = any(bool(curve.failures.any()) for curve in curves)
        where = f"{len(costs)} costs from {short(costs[0])} to {short(costs[-1])}"
        return evidence((-slopes).tolist(), open_below=unsure, open_above=unsure, notes=(where, *failure_notes(curves)))
