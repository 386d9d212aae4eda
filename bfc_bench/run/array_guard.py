"""Gives learners copies of arrays, and compares these with the originals afterwards.

NumPy's read-only flag and JAX's immutable arrays do not protect the data: ``torch.from_numpy`` and
``torch.from_dlpack`` can write to either. A learner that changes its arrays must affect no other learner, and must be
detected.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bfc_bench.learner import Array, ArrayKind, Column, Data
from bfc_bench.run.frames import to_frame
from bfc_bench.toolkit.arrays import convert, to_numpy


class ArrayGuard:
    """Copies of the arrays of a batch, one for each sample and size, shared by its cells."""

    def __init__(self, kind: ArrayKind, device: str) -> None:
        self._kind, self._device = kind, device
        self._copies: dict[tuple[str, str, int], tuple[np.ndarray, Array, tuple[Column, ...]]] = {}

    def guarded_copy(self, what: str, sample: str, x: np.ndarray, columns: tuple[Column, ...] = ()) -> Array:
        """A copy of ``x`` of the kind that the learner wants; the same copy for the same arguments."""
        key = (what, sample, len(x))
        if key not in self._copies:
            original = _copy(x) if self._kind == "numpy" else x  # other conversions copy
            copy = to_frame(x, columns) if columns else convert(original, self._kind, self._device)
            self._copies[key] = (x, copy, columns)
        return self._copies[key][1]

    def guarded_data(self, data: Data) -> Data:
        """A training set with copies of its points x (n, d) and labels y (n,)."""
        x = self.guarded_copy("inputs", data.sample, data.x, data.columns)
        y = self.guarded_copy("labels", data.sample, data.y)
        return replace(data, x=x, y=y)

    def changed(self) -> list[str]:
        """Names of the arrays that have changed, each once."""
        changed = (what for (what, *_), copies in self._copies.items() if not self._is_unchanged(*copies))
        return list(dict.fromkeys(changed))

    def _is_unchanged(self, x: np.ndarray, given: Array, columns: tuple[Column, ...]) -> bool:
        if columns:
            return bool(to_frame(x, columns).equals(given))
        if self._kind == "jax":
            x = x.astype(given.dtype, copy=False)  # float32 unless x64 is enabled
        return _same_bits(to_numpy(given), x)


def _copy(x: np.ndarray) -> np.ndarray:
    copy = np.array(x)
    copy.setflags(write=False)
    return copy


def _same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    bits = np.dtype(f"u{y.dtype.itemsize}")
    return x.shape == y.shape and x.dtype == y.dtype and not np.count_nonzero(x.view(bits) != y.view(bits))
