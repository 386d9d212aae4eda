"""Moves arrays between NumPy, torch and JAX, and allocates large matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from bfc_bench.learner import Array, ArrayKind
from bfc_bench.toolkit.precision import prepare_jax

if TYPE_CHECKING:
    import jax
    from torch import Tensor

AnyArray = TypeVar("AnyArray", "np.ndarray", "Tensor", "jax.Array")
"""An array of one of the libraries, the same one throughout a signature."""
NumpyOrJax = TypeVar("NumpyOrJax", "np.ndarray", "jax.Array")
"""The same, for models that JAX trains and NumPy evaluates."""


def convert(x: np.ndarray, kind: ArrayKind, device: str) -> Array:
    """A NumPy array as an array of another library on ``cpu`` or ``cuda``: a copy, or the array itself for NumPy."""
    if kind == "torch":
        import torch

        return torch.tensor(x, device=device)
    if kind == "jax":
        import jax

        # Copy, because JAX shares the memory of suitably aligned arrays.
        return jax.device_put(np.array(x), prepare_jax(device))
    return x


def to_numpy(x: Array) -> np.ndarray:
    """Any array as a NumPy array on the host, of the same dtype."""
    if type(x).__module__.startswith("torch"):
        x = x.detach().cpu()
    return np.asarray(x)


def empty_matrix(rows: int, columns: int, like: Tensor) -> Tensor:
    """A (rows, columns) matrix of unset values.

    On a CPU NumPy allocates it, since it asks for huge pages and torch does not: the first write to a large matrix then
    takes a fifth of the time. Dtype and device are those of ``like``.
    """
    import torch

    if like.is_cuda:
        return like.new_empty(rows, columns)
    return torch.from_numpy(np.empty((rows, columns), dtype=str(like.dtype).removeprefix("torch.")))
