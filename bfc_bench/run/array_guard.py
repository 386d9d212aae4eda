"""Gives learners copies of arrays, and compares these with the originals afterwards.

NumPy's read-only flag and JAX's immutable arrays do not protect the data: ``torch.from_numpy`` and
``torch.from_dlpack`` can write to either. A learner that changes its arrays must affect no other learner, and must be
detected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bfc_bench.learner import Array, ArrayKind, Column
from bfc_bench.toolkit.arrays import convert, to_numpy

if TYPE_CHECKING:
    import pandas as pd

Columns: TypeAlias = tuple[Column, ...]


def guarded_copy(x: np.ndarray, kind: ArrayKind, device: str, columns: Columns = ()) -> Array:
    """A copy of ``x`` of the kind that a learner wants; a frame if there are ``columns``."""
    if columns:
        return to_frame(x, columns)
    if kind != "numpy":
        return convert(x, kind, device)  # which copies
    copy = np.array(x)
    copy.setflags(write=False)
    return copy


def is_unchanged(x: np.ndarray, given: Array, kind: ArrayKind, columns: Columns = ()) -> bool:
    """Whether ``given``, the copy of ``x``, still has every bit of it."""
    if columns:
        return bool(to_frame(x, columns).equals(given))
    if kind == "jax":
        x = x.astype(given.dtype, copy=False)  # float32 unless x64 is enabled
    copy, bits = to_numpy(given), np.dtype(f"u{x.dtype.itemsize}")
    return copy.dtype == x.dtype and np.array_equal(copy.view(bits), x.view(bits))


def to_frame(x: np.ndarray, columns: Columns) -> pd.DataFrame:
    """A frame of its own memory: numbers are float64 and categories of pandas' categorical type; NaN is missing.

    Args:
        x: Values, and numbers of levels for categories, (m, k).
        columns: The k columns.
    """
    import pandas as pd

    series: dict[str, Any] = {}
    for i, column in enumerate(columns):
        if column.levels:
            codes = np.where(np.isnan(x[:, i]), -1, x[:, i]).astype(int)
            series[column.name] = pd.Categorical.from_codes(codes, categories=list(column.levels))
        else:
            series[column.name] = np.array(x[:, i])
    return pd.DataFrame(series)
