"""``slope``: how a metric scales with a number that is swept over several tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, model_validator

from bfc_bench.analysis.claims.base import Bounded, MetricName, Positive, in_words
from bfc_bench.analysis.claims.measures import Point, locate, measure
from bfc_bench.analysis.claims.verdict import Evidence, Verdict, evidence, nothing, short
from bfc_bench.analysis.curves import scale_of
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

    Only replicates with a value on every task count. Errors in parts of the target, estimates that may be negative,
    have no logarithm and so no slope: a claim about theirs is undecided.
    """

    kind: ClassVar[str] = "slope"
    label: str
    sweep: Annotated[tuple[SweptTask, ...], Field(min_length=2)]
    against: str = "the swept number"
    """What is swept, in words."""
    d: Size | None = None
    """The largest of each task by default."""
    n: Size | None = None
    """The largest of each task by default."""
    metric: MetricName = "nmse"

    @model_validator(mode="after")
    def _complete(self) -> Slope:
        if len({point.value for point in self.sweep}) < 2:
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
        """The tasks of the sweep."""
        return tuple(point.task for point in self.sweep)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From one slope per replicate; a failed cell or a value at the floor leaves both sides open."""
        points = [locate(rows, task, self.labels, self.d, self.n) for task in self.tasks]
        values = [point.value for point in self.sweep]
        where = "; ".join(dict.fromkeys(at.size or at.task for at in points))
        statement = (
            f"The {in_words(self.metric)} of {self.label} scales with {self.against}, {short(min(values))} to "
            f"{short(max(values))}, to a power of {self.bound} ({where})."
        )
        return self.verdict(statement, self.region, self._evidence(rows, points), log=False)

    def _evidence(self, rows: Sequence[Row], points: Sequence[Point]) -> Evidence:
        if scale_of(self.metric) == "linear":
            return nothing(
                f"{self.metric} is an unbiased estimate that may be negative, so it has no logarithm and no slope"
            )
        found = [measure(rows, self.label, self.metric, at) for at in points]
        if missing := [s.problem for s in found if not s.values]:
            return nothing("; ".join(missing))
        log_values = np.log([point.value for point in self.sweep])
        complete = sorted(set.intersection(*(set(s.values) for s in found)))
        slopes = [np.polyfit(log_values, [s.values[replicate] for s in found], 1)[0] for replicate in complete]
        unsure = any(s.failed or s.floored for s in found)
        notes = [note for s in found for note in s.notes]
        return evidence(slopes, open_below=unsure, open_above=unsure, notes=notes)
