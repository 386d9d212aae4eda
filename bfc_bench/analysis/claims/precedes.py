"""Claim kind ``precedes``: during training, one metric reaches its level before another does."""

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
"""Names of stages that are checkpoints."""


class Event(Settings):
    """A metric falls to a level."""

    metric: MetricName = "nmse"
    """The metric that falls."""
    level: Positive
    """The level that it reaches."""

    def __str__(self) -> str:
        return f"{in_words(self.metric)} ≤ {short(self.level)}"


class Precedes(Claim):
    """step(first) / step(then) <= 1 / factor, in the geometric mean over replicates.

    The checkpoints are the stages ``step<count>``. The step at which a metric reaches its level is read from them as N*
    is read from a learning curve, with isotonic regression. It is censored if the level is reached before the first
    checkpoint, or not by the last one.
    """

    kind: ClassVar[str] = "precedes"
    label: str
    """Label of a learner that keeps checkpoints."""
    task: str
    """Name of the task."""
    d: Size | None = None
    """Input dimension; the largest by default."""
    n: Size | None = None
    """Number of training points; the largest by default."""
    first: Event
    """The earlier event: a metric and its level."""
    then: Event
    """The later event: a metric and its level."""
    factor: Positive = 1.0
    """The later event takes at least this many times as many steps."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """The label."""
        return (self.label,)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task."""
        return (self.task,)

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """The point."""
        return [locate(rows, self.task, self.labels, self.d, self.n)]

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the t-interval of the log ratio of steps; a failed cell leaves both sides open."""
        at = locate(rows, self.task, self.labels, self.d, self.n)
        at_point = Rows.of(rows).where(task=at.task, label=self.label, d=at.d, n=at.n)
        sooner = f"{short(self.factor)} times sooner than" if self.factor != 1 else "before"
        statement = f"In the training of {self.label}, {self.first} is reached {sooner} {self.then} ({at})."
        return self.verdict(statement, Region(hi=1 / self.factor), self._evidence(at_point, at), log=True)

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
    """A metric at the checkpoints of one learner at one point; None if there are none.

    It is a curve whose sizes ``n`` are training steps.
    """
    names = {name for name in Rows.of(rows).names("stages") if CHECKPOINT.fullmatch(name)}
    checkpoints = [curve for name in sorted(names, key=_step) for curve in curves(rows, metric, name)]
    if not checkpoints:
        return None
    return replace(
        checkpoints[0],
        n=np.array([_step(curve.stage) for curve in checkpoints]),
        values=np.column_stack([curve.values for curve in checkpoints]),
        statuses=checkpoints[0].statuses * len(checkpoints),
        stage=None,
        tried=None,
    )


def _step(name: str | None) -> int:
    return int((name or "").removeprefix("step"))
