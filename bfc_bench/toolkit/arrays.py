"""Moves arrays between NumPy, torch and JAX, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bfc_bench.learner import Array, ArrayKind
from bfc_bench.toolkit.precision import prepare_jax

if TYPE_CHECKING:
    import jax
    import numpy as np
    from torch import Tensor

AnyArray = TypeVar("AnyArray", "np.ndarray", "Tensor", "jax.Array")
"""An array of one of the libraries, the same one wherever it stands in a signature."""
NumpyOrJax = TypeVar("NumpyOrJax", "np.ndarray", "jax.Array")
"""The same, for what is trained by JAX and evaluated by NumPy."""


def convert(x: np.ndarray, kind: ArrayKind, device: str) -> Array:
    """A NumPy array as ``kind`` on ``device`` (``cpu`` or ``cuda``), float64 (JAX: float32 unless x64 is enabled).

    NumPy arrays are passed on as they are; the others are copies.
    """
    if kind == "torch":
        import torch

        return torch.tensor(x, device=device)
    if kind == "jax":
        import jax
        import numpy as np

        # JAX would go on with the memory of an array of its own type that is aligned as it likes.
        return jax.device_put(np.array(x), prepare_jax(device))
    return x


def to_numpy(x: Array) -> np.ndarray:
    """Any array as a NumPy array on the host, its dtype kept."""
    import numpy as np

    if type(x).__module__.startswith("torch"):
        x = x.detach().cpu()
    return np.asarray(x)


def empty_matrix(rows: int, columns: int, like: Tensor) -> Tensor:
    """A (rows, columns) matrix of unset values, of the dtype and device of ``like``.

    On a CPU NumPy takes the memory, for it asks for huge pages where torch does not: a large matrix is then first
    written in a fifth of the time.
    """
    import numpy as np
    import torch

    if like.is_cuda:
        return like.new_empty(rows, columns)
    return torch.from_numpy(np.empty((rows, columns), dtype=str(like.dtype).removeprefix("torch.")))
