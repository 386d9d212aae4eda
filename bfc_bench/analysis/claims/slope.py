"""``slope``: how a metric scales with a number that is swept over several tasks, or with n."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from bfc_bench.analysis.claims.base import Bounded, MetricName, Positive, in_words
from bfc_bench.analysis.claims.measures import Point, failures, locate, measure
from bfc_bench.analysis.claims.verdict import Evidence, Verdict, evidence, nothing, short
from bfc_bench.analysis.curves import Curve, curves_of, scale_of
from bfc_bench.analysis.power_law import MIN_SIZES, curve_fits
from bfc_bench.config import Settings
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size


class SweptTask(Settings):
    """A task of the sweep."""

    task: str
    value: Positive
    """The swept number there."""


class Slope(Bounded):
    """The exponent s of metric ~ value^s: one least-squares slope of logarithms per replicate, then their t-interval.

    With ``task`` in the place of ``sweep`` it is the exponent in n of metric ~ c + a n^s, from a fit per replicate.
    Only replicates with a value on every task count. Errors in parts of the target, estimates that may be negative,
    have no logarithm and so no slope: a claim about theirs is undecided.
    """

    kind: ClassVar[str] = "slope"
    label: str
    sweep: Annotated[tuple[SweptTask, ...], Field(min_length=2)] | None = None
    task: str | None = None
    against: str = "the swept number"
    """What is swept, in words."""
    d: Size | None = None
    """The largest of each task by default."""
    n: Size | None = None
    """The largest of each task by default."""
    metric: MetricName = "nmse"

    @model_validator(mode="after")
    def _complete(self) -> Slope:
        if (self.sweep is None) == (self.task is None):
            raise ValueError(
                "sweep, for a number that differs between tasks, or task, for n, is required, and only one"
            )
        if self.task is not None and self.n is not None:
            raise ValueError(f"n does not go with task, whose sizes are all used. Got n = {self.n}")
        if self.sweep is not None and len({point.value for point in self.sweep}) < 2:
            raise ValueError("sweep must have 2 different values or more")
        if self.at_most is None and self.at_least is None:
            raise ValueError("at_most or at_least is required and missing")
        return self

    @property
    def predictors(self) -> tuple[str, ...]:
        """The one."""
        return (self.label,)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the sweep, or the one."""
        return (self.task,) if self.task is not None else tuple(point.task for point in self.sweep or ())

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """Those of the sweep, or all n."""
        found = [locate(rows, task, self.labels, self.d, self.n) for task in self.tasks]
        return found if self.task is None else [Point(at.task, at.d, None) for at in found]

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From one slope per replicate; a failed cell or a value at the floor leaves both sides open."""
        if self.task is not None:
            return self._against_n(rows, self.task)
        points = [locate(rows, task, self.labels, self.d, self.n) for task in self.tasks]
        values = [point.value for point in self.sweep or ()]
        where = "; ".join(dict.fromkeys(at.size or at.task for at in points))
        statement = (
            f"The {in_words(self.metric)} of {self.label} scales with {self.against}, {short(min(values))} to "
            f"{short(max(values))}, to a power of {self.bound} ({where})."
        )
        return self.verdict(statement, self.region, self._evidence(rows, points), log=False)

    def _against_n(self, rows: Sequence[Row], task: str) -> Verdict:
        at = locate(rows, task, self.labels, self.d, None)
        statement = (
            f"The {in_words(self.metric)} of {self.label}, less its floor, scales with n to a power of {self.bound} "
            f"({Point(task, at.d, None)})."
        )
        found = curves_of(rows, self.label, task, self.metric, at.d)
        fits = curve_fits(found)
        if not fits:
            return self.verdict(statement, self.region, nothing(self._why_not(found)), log=False)
        floors = f"{sum(fit.floor > 0 for fit in fits[0].fits)} of {len(fits[0].fits)} replicates end on a floor"
        slopes = [-fit.exponent for fit in fits[0].fits]
        unsure = bool(found[0].failures.any())
        piece = evidence(slopes, open_below=unsure, open_above=unsure, notes=(floors, *failures(found)))
        return self.verdict(statement, self.region, piece, log=False)

    def _why_not(self, found: Sequence[Curve]) -> str:
        if not found:
            return f"{self.label} has no {self.metric} there"
        if scale_of(self.metric) == "linear":
            return f"{self.metric} is an unbiased estimate that may be negative, so it has no logarithm and no slope"
        return f"no replicate of {self.label} has values at {MIN_SIZES} sizes, which a fit needs"

    def _evidence(self, rows: Sequence[Row], points: Sequence[Point]) -> Evidence:
        if scale_of(self.metric) == "linear":
            return nothing(
                f"{self.metric} is an unbiased estimate that may be negative, so it has no logarithm and no slope"
            )
        found = [measure(rows, self.label, self.metric, at) for at in points]
        if missing := [s.problem for s in found if not s.values]:
            return nothing("; ".join(missing))
        log_values = np.log([point.value for point in self.sweep or ()])
        complete = sorted(set.intersection(*(set(s.values) for s in found)))
        slopes = [np.polyfit(log_values, [s.values[replicate] for s in found], 1)[0] for replicate in complete]
        unsure = any(s.failed or s.floored for s in found)
        notes = [note for s in found for note in s.notes]
        return evidence(slopes, open_below=unsure, open_above=unsure, notes=notes)
