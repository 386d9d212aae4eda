"""What learners are given is lent: copies that hold no point too many, compared with the framework's own afterwards.

NumPy's read-only flag binds only those who go through NumPy, and arrays of JAX are unchangeable only by JAX;
``torch.from_numpy`` and ``torch.from_dlpack`` change either. So a learner that changes its arrays must reach nobody
else's, and must be found out.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bfc_bench.learner import Array, ArrayKind, Data
from bfc_bench.toolkit.arrays import convert, to_numpy


class ArrayGuard:
    """The arrays of a batch's cells, a copy for each sample and size, which they share."""

    def __init__(self, kind: ArrayKind, device: str) -> None:
        self._kind, self._device = kind, device
        self._copies: dict[tuple[str, str, int], tuple[np.ndarray, Array]] = {}

    def guarded_copy(self, what: str, sample: str, x: np.ndarray) -> Array:
        """``x``, which is named by ``what`` it is, its sample and its length, as the kind that the learner wants."""
        key = (what, sample, len(x))
        if key not in self._copies:
            # Arrays of torch and of JAX are copies already.
            given = convert(_copy(x) if self._kind == "numpy" else x, self._kind, self._device)
            self._copies[key] = (x, given)
        return self._copies[key][1]

    def guarded_data(self, data: Data) -> Data:
        """A training set with its points x (n, d) and labels y (n,) lent."""
        x, y = self.guarded_copy("inputs", data.sample, data.x), self.guarded_copy("labels", data.sample, data.y)
        return replace(data, x=x, y=y)

    def changed(self) -> list[str]:
        """What is no longer what it was, each named once."""
        wrong = (what for (what, *_), (x, given) in self._copies.items() if not self._holds(given, x))
        return list(dict.fromkeys(wrong))

    def _holds(self, given: Array, x: np.ndarray) -> bool:
        if self._kind == "jax":
            x = x.astype(given.dtype, copy=False)  # float32 unless x64 is enabled
        return _same_bits(to_numpy(given), x)


def own(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of small facts, for one fit alone."""
    return copy.deepcopy(dict(facts))


def _copy(x: np.ndarray) -> np.ndarray:
    given = np.array(x)
    given.setflags(write=False)
    return given


def _same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    bits = np.dtype(f"u{y.dtype.itemsize}")
    return x.shape == y.shape and x.dtype == y.dtype and not np.count_nonzero(x.view(bits) != y.view(bits))
