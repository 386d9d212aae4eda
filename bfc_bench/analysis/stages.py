"""What is measured of a predictor after each stage of its training."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import FLOOR, least, scale_of
from bfc_bench.analysis.intervals import Interval, geometric_mean, share_interval, t_interval
from bfc_bench.store.row import Row
from bfc_bench.store.rows import NumberPath, Rows

FINAL = "final"
"""Stands for the final predictor among the stages."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is measured: an error of the predictor, or of one ``part``, a hidden layer or a part of the target."""

    kind: str
    """A metric of the rows such as ``nmse``; or of a layer ``feature_errors`` (P_l), ``span_errors`` and
    ``cka_distance`` (1 - CKA); or of a part of the target ``part_errors``."""
    part: str = ""


@dataclass(frozen=True, slots=True)
class StageErrors:
    """One quantity of one learner after one stage, over replicates."""

    task: str
    d: int
    n: int
    label: str
    stage: str
    quantity: Quantity
    values: tuple[float, ...]
    """One per replicate that has it; those that are averaged as logarithms are clipped at ``FLOOR``."""
    test_points: float = math.inf
    """Of a task on data, as of a ``Curve``."""
    test_pool: float = math.inf

    @property
    def interval(self) -> Interval:
        """Mean over replicates with its t-interval: geometric, or arithmetic where values may be negative.

        Error rates on data are averaged as they are, and their interval counts the test points too.
        """
        if self.quantity.kind == "error_rate" and math.isfinite(self.test_pool):
            return share_interval(self.values, self.test_points, self.test_pool)
        return t_interval(self.values) if scale_of(self.quantity.kind) == "linear" else geometric_mean(self.values)

    @property
    def worst(self) -> float:
        """The largest value of a replicate."""
        return max(self.values)

    def as_dict(self) -> dict[str, Any]:
        """The mean with its interval as a flat record."""
        interval = self.interval
        return {
            "task": self.task,
            "d": self.d,
            "n": self.n,
            "label": self.label,
            "stage": self.stage,
            "quantity": self.quantity.kind,
            "part": self.quantity.part,
            "mean": interval.mean,
            "lo": interval.lo,
            "hi": interval.hi,
            "worst": self.worst,
            "replicates": interval.count,
        }


def stage_errors(rows: Iterable[Row], metric: str = "nmse") -> list[StageErrors]:
    """What rows hold of every stage, stages in order of training, the last ``FINAL``.

    Of the predictors' errors ``metric`` is taken, where it is a column. Learners that show neither stages, features nor
    errors in parts of the target are left out.
    """
    found = []
    for (task, d, n, label), rows_here in Rows.of(rows).where(status="ok").groups("task", "d", "n", "label").items():
        shown = np.zeros(len(rows_here), dtype=bool)
        places: dict[tuple[str, Quantity], NumberPath] = {}
        for here, paths in rows_here.by_layout():
            if any(path[0] in ("stages", "feature_errors", "part_errors") for path in paths):
                shown |= here
                places |= dict(_places(paths, metric))
        rows_shown = rows_here.at(shown)
        for (stage, quantity), path in places.items():
            measured = rows_shown.number(*path)
            measured = measured[~np.isnan(measured)]
            if quantity.kind == "cka_distance":
                measured = 1 - measured
            if scale_of(quantity.kind) == "log":
                measured = np.maximum(measured, FLOOR)
            if len(measured):
                tested = [least(rows_shown.number("chosen", "data", name)) for name in ("test_points", "test_pool")]
                found.append(StageErrors(task, d, n, label, stage, quantity, tuple(measured.tolist()), *tested))
    return found


def _places(paths: Sequence[NumberPath], metric: str) -> Iterator[tuple[tuple[str, Quantity], NumberPath]]:
    """Where rows hold the quantities of each stage, stages in their order, the final predictor last."""
    stages = dict.fromkeys(path[1] for path in paths if path[0] == "stages" and len(path) > 2)
    prefixes: dict[str, NumberPath] = {stage: ("stages", stage) for stage in stages}
    known = set(paths)
    for stage, prefix in (prefixes | {FINAL: ()}).items():
        if (*prefix, metric) in known:
            yield (stage, Quantity(metric)), (*prefix, metric)
        for kind in ("feature_errors", "part_errors", "span_errors", "cka"):
            above = (*(prefix or (("chosen", "measured") if kind in ("span_errors", "cka") else ())), kind)
            for path in paths:
                if path[:-1] == above:
                    yield (stage, Quantity("cka_distance" if kind == "cka" else kind, path[-1])), path
