"""Errors of a predictor after each stage of its training, with intervals over replicates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.curves import floors_of, least, scale_of, shared_n
from bfc_bench.analysis.intervals import Interval, share_interval, t_interval
from bfc_bench.store.row import BESIDES, Row
from bfc_bench.store.rows import NumberPath, Rows

FINAL = "final"
"""Name of the final predictor among the stages."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is measured: an error of the predictor, of one hidden layer, or in one part of the target."""

    kind: str
    """A metric of the rows such as ``nmse``; for a layer ``feature_errors`` (P_l), ``uncut_errors``, ``span_errors`` or
    ``cka_distance`` (1 - CKA); for a part of the target ``part_errors``."""
    part: str = ""
    """The layer or the part of the target; empty for the predictor."""


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
    """One value per replicate that has one; values that are averaged as logarithms are clipped (``floors_of``)."""
    test_points: float = math.inf
    """As in ``Curve``."""
    test_pool: float = math.inf
    """As in ``Curve``."""

    @property
    def interval(self) -> Interval:
        """Mean over replicates with its t-interval: geometric, or arithmetic if values may be negative.

        Error rates on data have an arithmetic mean, and an interval that includes the sampling of test points.
        """
        if self.quantity.kind == "error_rate" and math.isfinite(self.test_pool):
            return share_interval(self.values, self.test_points, self.test_pool)
        linear = scale_of(self.quantity.kind) == "linear"
        return t_interval(self.values) if linear else t_interval(np.log(self.values)).exp()

    @property
    def worst(self) -> float:
        """The largest value over replicates."""
        return max(self.values)


def stage_errors(rows: Iterable[Row], metric: str = "nmse") -> list[StageErrors]:
    """Errors at every stage and shared n, in the order of training; the last stage is ``FINAL``.

    ``metric`` is the error of the predictors. Learners that report neither stages, features nor errors in parts of the
    target are left out.
    """
    errors = []
    rows = Rows.of(rows)
    shared = {curve: shared_n(of_curve) for curve, of_curve in rows.groups("task", "d", "label").items()}
    for (task, d, n, label), group in rows.where(status="ok").groups("task", "d", "n", "label").items():
        if n not in shared[task, d, label]:
            continue
        has_stages = np.zeros(len(group), dtype=bool)
        path_of: dict[tuple[str, Quantity], NumberPath] = {}
        for with_layout, paths in group.by_layout():
            if any(path[0] in ("stages", "feature_errors", "part_errors") for path in paths):
                has_stages |= with_layout
                path_of |= dict(_quantities(paths, metric))
        with_stages = group.at(has_stages)
        for (stage, quantity), path in path_of.items():
            measured = with_stages.number(*path)
            if quantity.kind == "cka_distance":
                measured = 1 - measured
            tested = [least(with_stages.number("chosen", "data", name)) for name in ("test_points", "test_pool")]
            if scale_of(quantity.kind) == "log":
                measured = np.maximum(measured, floors_of(with_stages, quantity.kind))
            measured = measured[~np.isnan(measured)]
            if len(measured):
                errors.append(StageErrors(task, d, n, label, stage, quantity, tuple(measured.tolist()), *tested))
    return errors


def _quantities(paths: Sequence[NumberPath], metric: str) -> Iterator[tuple[tuple[str, Quantity], NumberPath]]:
    """The quantities of each stage with their paths in the rows, in the order of training, final predictor last."""
    stages = dict.fromkeys(path[1] for path in paths if path[0] == "stages" and len(path) > 2)
    prefixes: dict[str, NumberPath] = {stage: ("stages", stage) for stage in stages}
    present = set(paths)
    for stage, prefix in (prefixes | {FINAL: ()}).items():
        if (*prefix, metric) in present:
            yield (stage, Quantity(metric)), (*prefix, metric)
        for kind in ("feature_errors", "part_errors", *BESIDES):
            parent = (*(prefix or (("chosen", "measured") if kind in BESIDES else ())), kind)
            for path in paths:
                if path[:-1] == parent:
                    yield (stage, Quantity("cka_distance" if kind == "cka" else kind, path[-1])), path
