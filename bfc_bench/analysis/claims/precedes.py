"""``precedes``: along the checkpoints of training one metric reaches its level before another does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from bfc_bench.analysis.claims.base import Claim, MetricName, Positive, in_words
from bfc_bench.analysis.claims.measures import Point, crossing_ratio, locate
from bfc_bench.analysis.claims.verdict import Evidence, Region, Verdict, nothing, short
from bfc_bench.analysis.curves import Curve, curves
from bfc_bench.analysis.thresholds import crossings
from bfc_bench.config import Settings
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.model import Size

CHECKPOINT = re.compile(r"step(\d+)")
"""Names of the stages that are checkpoints."""


class Event(Settings):
    """A metric gets down to a level."""

    metric: MetricName = "nmse"
    """What gets down to the level."""
    level: Positive
    """Which value counts as there."""

    def __str__(self) -> str:
        return f"{in_words(self.metric)} ≤ {short(self.level)}"


class Precedes(Claim):
    """step(first) / step(then) <= 1 / factor, in the geometric mean over replicates.

    The stages ``step<count>`` are the checkpoints; the step at which a metric reaches its level is read from them as N*
    is read from a curve, with isotonic regression, and censored where the level is reached before the first or not by
    the last checkpoint.
    """

    kind: ClassVar[str] = "precedes"
    label: str
    """A learner's label, with stages."""
    task: str
    """Name of the task."""
    d: Size | None = None
    """The largest by default."""
    n: Size | None = None
    """The largest by default."""
    first: Event
    """What is to happen first: a metric and its level."""
    then: Event
    """What is to happen later."""
    factor: Positive = 1.0
    """How many times as late, in steps of training."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """The one."""
        return (self.label,)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task."""
        return (self.task,)

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """The one."""
        return [locate(rows, self.task, self.labels, self.d, self.n)]

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the t-interval of the log ratio of steps; a failed cell leaves both sides open."""
        at = locate(rows, self.task, self.labels, self.d, self.n)
        here = Rows.of(rows).where(task=at.task, label=self.label, d=at.d, n=at.n)
        sooner = f"{short(self.factor)} times sooner than" if self.factor != 1 else "before"
        statement = f"In the training of {self.label}, {self.first} is reached {sooner} {self.then} ({at})."
        return self.verdict(statement, Region(hi=1 / self.factor), self._evidence(here, at), log=True)

    def _evidence(self, rows: Sequence[Row], at: Point) -> Evidence:
        if not rows:
            return nothing(f"no cells of {self.label} on {at}")
        paths = []
        for event in (self.first, self.then):
            path = training_path(rows, event.metric)
            if path is None:
                return nothing(f"{self.label} has no checkpoints step<count> with {event.metric} on {at}")
            paths.append((path, crossings(path, event.level)))
        (path, first), (_, then) = paths
        failed = int(path.failures.max())
        notes = [f"failed cells of {self.label}: {failed}"] * bool(failed)
        return crossing_ratio(first, then, notes, failed=(failed > 0, failed > 0))


def training_path(rows: Sequence[Row], metric: str) -> Curve | None:
    """A metric against the step, from the checkpoints of one learner's cells at one point; None where there are none.

    The sizes ``n`` of the curve are steps.
    """
    names = {name for name in Rows.of(rows).names("stages") if CHECKPOINT.fullmatch(name)}
    found = [curve for name in sorted(names, key=_step) for curve in curves(rows, metric, name)]
    if not found:
        return None
    return replace(
        found[0],
        n=np.array([_step(curve.stage) for curve in found]),
        values=np.column_stack([curve.values for curve in found]),
        statuses=found[0].statuses * len(found),
        stage=None,
        tried=None,
    )


def _step(name: str | None) -> int:
    return int((name or "").removeprefix("step"))
