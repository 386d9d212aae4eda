"""Claim kind ``slope``: how a metric scales with a number that is swept over several tasks, or with n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from bfc_bench.analysis.claims.axes import AlongAxis, SweptTask
from bfc_bench.analysis.claims.base import Bounded, Label, MetricName, NStarClaim, TaskName, in_words
from bfc_bench.analysis.claims.mean_evidence import Evidence, evidence, nothing, short
from bfc_bench.analysis.claims.measures import Point, evidence_of_n_stars, measure, no_logarithm
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import curves_of, scale_of
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size

TINY = 1e-12
"""Smaller weights are rounding errors of 0: the middle one of three evenly spaced tasks has no weight in a slope."""


class Slope(Bounded, NStarClaim, AlongAxis):
    """The exponent s of metric ~ value^s: one least-squares slope of logarithms per replicate, then their t-interval.

    With ``level``, it is the exponent of N*(level) ~ value^s; if N* lies in a range, so does the replicate's slope.
    With ``axis`` and ``task``, the sweep is along the axis of a grid, or over d. Only replicates with a value on every
    task count. Errors in parts of the target may be negative and have no logarithm, so a claim about them is undecided.
    """

    kind: ClassVar[str] = "slope"
    label: Label
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""
    sweep: Annotated[tuple[SweptTask, ...], Field(min_length=2)]
    """Tasks, each with its value of the swept number."""
    axis: str = ""
    """The axis of a grid, or d, along which the metric scales; ``task`` then takes the place of ``sweep``."""
    task: TaskName = ""
    """A grid, or a list of its members, along whose ``axis`` the metric scales."""
    against: str = ""
    """Name of the swept number, for the statement; the axis by default."""
    d: Size | None = None
    """Input dimension; the largest of each task by default."""
    n: Size | None = None
    """Number of training points; the largest of each task by default."""
    metric: MetricName = "nmse"
    """The metric that scales."""

    @model_validator(mode="after")
    def _complete(self) -> Slope:
        if self.task and not self.axis:
            raise ValueError(f"task goes with axis, in the place of sweep. Got task = {self.task!r}")
        if len({point.value for point in self.sweep}) < 2:
            raise ValueError("sweep must have 2 different values or more")
        return self

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """The point of each task; all its n if the claim is about N*."""
        return list(dict.fromkeys(at for at, _ in self._places(rows)))

    def _places(self, rows: Sequence[Row]) -> list[tuple[Point, str]]:
        """The predictor and its point of the grid, with all n if the claim is about N*, for each point of the sweep."""
        return [
            (self.located(rows, point.task, point.d or self.d, self.n), point.label(self.label)) for point in self.sweep
        ]

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From one slope per replicate; of errors, a failed cell or a value at the floor leaves both sides open."""
        places = self._places(rows)
        values = [point.value for point in self.sweep]
        what, evidence_at = f"{in_words(self.metric)} of {self.label}", self._evidence
        if self.level is not None:
            what = f"number of samples that {self.label} needs to reach {in_words(self.metric)} ≤ {short(self.level)}"
            evidence_at = self._evidence_of_n_star
        where = "; ".join(dict.fromkeys(at.size or at.task for at, _ in places))
        swept = self.against or self.axis or "the swept number"
        statement = (
            f"The {what} scales with {swept}, {short(min(values))} to {short(max(values))}, to a power of "
            f"{self.bound} ({where})."
        )
        return self.verdict(statement, self.region, evidence_at(rows, places), log=False)

    def _evidence(self, rows: Sequence[Row], places: Sequence[tuple[Point, str]]) -> Evidence:
        if scale_of(self.metric) == "linear":
            return no_logarithm(self.metric, "slope")
        measured = [measure(rows, name, self.metric, at) for at, name in places]
        if missing := [at_task.problem for at_task in measured if not at_task.values]:
            return nothing("; ".join(missing))
        complete = sorted(set.intersection(*(set(at_task.values) for at_task in measured)))
        slopes = [float(self._weights @ [at_task.values[replicate] for at_task in measured]) for replicate in complete]
        unsure = any(at_task.failed or at_task.floored for at_task in measured)
        notes = [note for at_task in measured for note in at_task.notes]
        return evidence(slopes, open_below=unsure, open_above=unsure, notes=notes)

    @property
    def _weights(self) -> np.ndarray:
        """Weights w of the least-squares slope sum_i w_i y_i of y on the logarithms of the swept values, (tasks,)."""
        x = np.log([point.value for point in self.sweep])
        centred = x - x.mean()
        weights = centred / (centred @ centred)
        return np.where(np.abs(weights) > TINY, weights, 0.0)

    def _evidence_of_n_star(self, rows: Sequence[Row], places: Sequence[tuple[Point, str]]) -> Evidence:
        """The same for log N*: a range of N* gives a range of slopes, and a censored N* leaves a side open."""
        curves = [curves_of(rows, name, at.task, self.metric, at.d) for at, name in places]
        if missing := [str(at) for (at, _), curve in zip(places, curves, strict=True) if not curve]:
            return nothing(f"{self.label} has no {self.metric} on {'; '.join(missing)}")
        return evidence_of_n_stars(self._weights.tolist(), [curve for (curve,) in curves], self.level or math.nan)
