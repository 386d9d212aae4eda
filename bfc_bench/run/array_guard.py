"""Gives learners copies of arrays, and compares these with the originals afterwards.

NumPy's read-only flag and JAX's immutable arrays do not protect the data: ``torch.from_numpy`` and
``torch.from_dlpack`` can write to either. A learner that changes its arrays must affect no other learner, and must be
detected.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from bfc_bench.learner import Array, ArrayKind, Column
from bfc_bench.run.frames import to_frame
from bfc_bench.toolkit.arrays import convert, to_numpy

Columns: TypeAlias = tuple[Column, ...]


def guarded_copy(x: np.ndarray, kind: ArrayKind, device: str, columns: Columns = ()) -> Array:
    """A copy of ``x`` of the kind that a learner wants; a frame if there are ``columns``."""
    if columns:
        return to_frame(x, columns)
    return convert(_copy(x) if kind == "numpy" else x, kind, device)  # other conversions copy


def is_unchanged(x: np.ndarray, given: Array, kind: ArrayKind, columns: Columns = ()) -> bool:
    """Whether ``given``, the copy of ``x``, still has every bit of it."""
    if columns:
        return bool(to_frame(x, columns).equals(given))
    if kind == "jax":
        x = x.astype(given.dtype, copy=False)  # float32 unless x64 is enabled
    return _same_bits(to_numpy(given), x)


def _copy(x: np.ndarray) -> np.ndarray:
    copy = np.array(x)
    copy.setflags(write=False)
    return copy


def _same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    bits = np.dtype(f"u{y.dtype.itemsize}")
    return x.shape == y.shape and x.dtype == y.dtype and not np.count_nonzero(x.view(bits) != y.view(bits))
