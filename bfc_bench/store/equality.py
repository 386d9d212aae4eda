"""Compares two rows of one cell: bit for bit, within rounding, and within a tolerance if both were made on GPUs."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

from bfc_bench.store.row import measured

Tolerance: TypeAlias = tuple[float, float]
"""Relative and absolute difference up to which two measured numbers count as equal."""
BITS: Tolerance = (0.0, 0.0)
GPUS: Tolerance = (1e-2, 1e-9)
"""Of rows that were made on GPUs.

Two GPUs or drivers, or another number of models in a batch, sum in another order. In float32 this changes a number by
1e-7 at the first step, and training amplifies the difference from step to step. Errors below the absolute one are
rounding errors themselves."""
ROUNDING: Tolerance = (1e-6, 1e-16)
"""Of rows that were made elsewhere and agree within rounding.

Cells that were fitted together share work, such as a product of matrices, whose last digits depend on its other rows.
Analyses take errors below the absolute one as equal."""
MEASURED = frozenset(
    (
        *("nmse", "nmse_trimmed", "error_rate", "train_nmse", "metrics"),
        *("feature_errors", "part_errors", "stages", "chosen"),
    )
)
"""Columns with measured numbers, to which the tolerance applies."""


def tolerance_of(one: Mapping[str, Any], other: Mapping[str, Any], elsewhere: Tolerance = BITS) -> Tolerance:
    """``GPUS`` if both rows were made on GPUs, otherwise the tolerance ``elsewhere``."""
    return GPUS if one.get("device") == other.get("device") == "cuda" else elsewhere


def differing(one: Mapping[str, Any], other: Mapping[str, Any], tolerance: Tolerance = BITS) -> list[str]:
    """Names of the columns in which two rows of a cell differ, sorted.

    Columns are compared bit for bit (``row.measured``), but for floating-point numbers in the columns ``MEASURED``,
    which may differ by the tolerance. Tuned options are chosen and not measured; with the tolerance ``GPUS``, artifacts
    are compared by name only. Options are compared if both rows have them: a release may have options that another
    lacks, and those that differ from their defaults are in the identity of the cell.
    """
    options = one.get("options", {}).keys() & other.get("options", {}).keys()
    a, b = (measured({**row, "options": {name: row["options"][name] for name in options}}) for row in (one, other))
    wrong = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
    return [name for name in wrong if not (name in a and name in b and _within(name, a[name], b[name], tolerance))]


def _within(column: str, one: str, other: str, tolerance: Tolerance) -> bool:
    """Whether two JSON texts of a column are equal within a tolerance."""
    a, b = json.loads(one), json.loads(other)
    if column == "artifacts":  # their digests do not tell a rounding
        return tolerance == GPUS and sorted(a) == sorted(b)
    if tolerance == BITS or column not in MEASURED or (column == "chosen" and a.get("tuned") != b.get("tuned")):
        return False
    return close(a, b, *tolerance)


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
