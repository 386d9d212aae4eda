"""Whether two rows of a cell say the same of it: bit for bit, and those that were made on GPUs within a tolerance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bfc_bench.store.row import measured

GPU_TOLERANCE = 1e-2
"""Relative difference up to which two numbers that were measured on GPUs are the same.

Two GPUs, two drivers, or two numbers of members that are trained together add up in different orders. That is one
rounding, 1e-7 of a number in float32, at the first step, and training multiplies it from step to step."""
GPU_FLOOR = 1e-9
"""Absolute difference that is added to it: errors that small are rounding themselves."""
MEASURED = frozenset(
    (
        *("nmse", "nmse_trimmed", "error_rate", "train_nmse", "metrics"),
        *("feature_errors", "part_errors", "stages", "chosen"),
    )
)
"""Columns with numbers that were measured; all others of a row are the same or not."""


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Columns in which two rows of a cell do not say the same, in alphabetical order.

    Bit for bit (``row.measured``); where both were made on a GPU, floating-point numbers in the columns ``MEASURED``
    within ``GPU_TOLERANCE`` and ``GPU_FLOOR``, but for tuned options, which are chosen and not measured. Of artifacts,
    which are compared by a digest of their bits, the names count there.
    """
    columns = exactly_differing(one, other)
    if one.get("device") != "cuda" or other.get("device") != "cuda":
        return columns
    a, b = measured(one), measured(other)
    return [name for name in columns if name not in a or name not in b or not _alike(name, a[name], b[name])]


def exactly_differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Columns in which two rows of a cell differ by so much as a bit."""
    a, b = measured(one), measured(other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def _alike(column: str, one: str, other: str) -> bool:
    """Of two columns of rows that were made on GPUs, as JSON texts."""
    a, b = json.loads(one), json.loads(other)
    if column == "artifacts":
        return sorted(a) == sorted(b)
    if column not in MEASURED or (column == "chosen" and a.get("tuned") != b.get("tuned")):
        return False
    return _close(a, b)


def _close(a: Any, b: Any) -> bool:
    """Whether nested facts are the same but for floating-point numbers, and these within the tolerance."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_close, a, b))
    if {type(a), type(b)} <= {int, float} and float in (type(a), type(b)):
        return bool(abs(a - b) <= GPU_TOLERANCE * max(abs(a), abs(b)) + GPU_FLOOR)
    return bool(a == b) and type(a) is type(b)
