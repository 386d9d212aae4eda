"""Compares two rows of one cell: bit for bit, within rounding, and within a tolerance if both were made on GPUs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from bfc_bench.store.row import measured

GPU_TOLERANCE = 1e-2
"""Relative difference up to which two numbers that were measured on GPUs count as equal.

Two GPUs or drivers, or another number of models in a batch, sum in another order. In float32 this changes a number by
1e-7 at the first step, and training amplifies the difference from step to step."""
GPU_FLOOR = 1e-9
"""Absolute difference that is allowed in addition, because errors this small are rounding errors themselves."""
ROUNDING, ROUNDING_FLOOR = 1e-6, 1e-16
"""Relative and absolute difference up to which two numbers that were measured elsewhere agree within rounding.

Cells that were fitted together share work, such as a product of matrices, whose last digits depend on its other rows.
Analyses take errors below the absolute one as equal."""
MEASURED = frozenset(
    (
        *("nmse", "nmse_trimmed", "error_rate", "train_nmse", "metrics"),
        *("feature_errors", "part_errors", "stages", "chosen"),
    )
)
"""Columns with measured numbers, to which the tolerance applies."""


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of the columns in which two rows of a cell differ, sorted.

    Columns are compared bit for bit (``row.measured``). If both rows were made on GPUs, floating-point numbers in the
    columns ``MEASURED`` may differ by ``GPU_TOLERANCE`` and ``GPU_FLOOR``, except tuned options, which are chosen and
    not measured, and artifacts are compared by name only.
    """
    return closely_differing(one, other) if _on_gpus(one, other) else exactly_differing(one, other)


def beyond_rounding(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """As ``differing``, but measured numbers of other rows may differ by ``ROUNDING`` and ``ROUNDING_FLOOR``."""
    return closely_differing(one, other, *(() if _on_gpus(one, other) else (ROUNDING, ROUNDING_FLOOR)))


def _on_gpus(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.get("device") == other.get("device") == "cuda"


def closely_differing(
    one: Mapping[str, Any], other: Mapping[str, Any], relative: float = GPU_TOLERANCE, absolute: float = GPU_FLOOR
) -> list[str]:
    """Names of the columns in which two rows of a cell differ, sorted; measured numbers by more than a tolerance."""
    a, b = measured(one), measured(other)
    return [
        name
        for name in exactly_differing(one, other)
        if name not in a or name not in b or not _within_tolerance(name, a[name], b[name], relative, absolute)
    ]


def exactly_differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of the columns in which two rows of a cell differ in any bit, sorted."""
    a, b = measured(one), measured(other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def _within_tolerance(column: str, one: str, other: str, relative: float, absolute: float) -> bool:
    """Whether two JSON texts of a column are equal within a tolerance."""
    a, b = json.loads(one), json.loads(other)
    if column == "artifacts":  # their digests do not tell a rounding
        return relative == GPU_TOLERANCE and sorted(a) == sorted(b)
    if column not in MEASURED or (column == "chosen" and a.get("tuned") != b.get("tuned")):
        return False
    return close(a, b, relative, absolute)


def close(a: Any, b: Any, relative: float, absolute: float = 0.0) -> bool:
    """Whether nested values are equal, floating-point numbers within a relative and an absolute tolerance."""
    within = partial(close, relative=relative, absolute=absolute)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(within(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(within, a, b))
    if {type(a), type(b)} <= {int, float} and float in (type(a), type(b)):
        return bool(a == b or abs(a - b) <= relative * max(abs(a), abs(b)) + absolute)  # infinities are equal
    return bool(a == b) and type(a) is type(b)
