"""Learning curves of a predictor after each stage of its training: its error, those of its layers and of parts of the
target.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from bfc_bench.analysis.curves import Curve, curves, path_of
from bfc_bench.store.row import BESIDES, Row
from bfc_bench.store.rows import Rows

KINDS = ("feature_errors", "part_errors", *BESIDES)
"""Metrics with a number per hidden layer or part of the target."""


def stage_curves(rows: Iterable[Row], metric: str = "nmse") -> list[Curve]:
    """The curves of all errors after every stage, in the order of training; the final predictor comes last.

    ``metric`` is the error of the predictors. CKA is given as ``cka_distance``, 1 - CKA. Learners that report neither
    stages, features nor errors in parts of the target are left out.
    """
    groups = Rows.of(rows).groups("task", "d", "label").values()
    reporting = (group for group in groups if any(map(group.names, ("stages", "feature_errors", "part_errors"))))
    return [curve for group in reporting for curve in _curves(group, metric)]


def _curves(rows: Rows, metric: str) -> Iterator[Curve]:
    for stage in (*rows.names("stages"), None):
        parts = [f"{kind}.{part}" for kind in KINDS for part in rows.names(*path_of(kind, stage))]
        for each in (metric, *parts):
            found = curves(rows, each, stage)
            if each.startswith("cka."):
                name = each.replace("cka", "cka_distance", 1)
                found = [replace(curve, metric=name, values=1 - curve.values) for curve in found]
            yield from found


def at_largest_n(curves: Sequence[Curve]) -> list[Curve]:
    """The curves at one size: the largest of their d at which one of them has a mean over replicates."""
    with_mean = [curve.at(curve.shared & np.isfinite(curve.values).any(axis=0)) for curve in curves]
    largest: dict[int, int] = {}
    for curve in with_mean:
        largest[curve.d] = max(largest.get(curve.d, 0), *curve.n.tolist(), 0)
    return [curve.at(curve.n == largest[curve.d]) for curve in with_mean if largest[curve.d] in curve.n]
