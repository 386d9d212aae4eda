"""What is measured of a predictor after each stage of its training."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bfc_bench.analysis.curves import FLOOR, scale_of
from bfc_bench.analysis.intervals import Interval, geometric_mean, t_interval
from bfc_bench.store.row import Row

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

    @property
    def interval(self) -> Interval:
        """Mean over replicates with its t-interval: geometric, or arithmetic where values may be negative."""
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
    values: dict[tuple[str, int, int, str, str, Quantity], list[float]] = defaultdict(list)
    for row in rows:
        if row.status == "ok" and (row.stages or row.feature_errors or row.part_errors):
            final = {metric: getattr(row, metric, None), **(row.chosen.get("measured") or {})}
            final |= {"feature_errors": row.feature_errors, "part_errors": row.part_errors}
            for stage, measured in [*row.stages.items(), (FINAL, final)]:
                for quantity, value in _quantities(measured, metric):
                    if isinstance(value, int | float) and math.isfinite(value):
                        clipped = value if scale_of(quantity.kind) == "linear" else max(float(value), FLOOR)
                        values[row.task, row.d, row.n, row.label, stage, quantity].append(float(clipped))
    return [StageErrors(*key, tuple(found)) for key, found in values.items()]


def _quantities(measured: Mapping[str, Any], metric: str) -> Iterator[tuple[Quantity, Any]]:
    yield Quantity(metric), measured.get(metric)
    for kind in ("feature_errors", "part_errors", "span_errors"):
        for part, value in (measured.get(kind) or {}).items():
            yield Quantity(kind, part), value
    for layer, value in (measured.get("cka") or {}).items():
        yield Quantity("cka_distance", layer), 1 - value
