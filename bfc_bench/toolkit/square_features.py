"""Adds the first layer of the hierarchy to inputs: ``(x, x^2 - E x^2)``.

The squares are G_1 of Backward Feature Correction (Allen-Zhu & Li, section 2), which the paper gives to every learner
of its tasks.

Shapes: m points, d input dimension.
"""

import math
from typing import Any

import numpy as np

from bfc_bench.learner import Context
from bfc_bench.toolkit.arrays import AnyArray


def square_mean(x: AnyArray, ctx: Context) -> np.ndarray:
    """E[x_i^2], (d,), float64: of the input law if it is known, else of the training inputs x (m, d)."""
    if ctx.square_mean is not None:
        return np.asarray(ctx.square_mean, dtype=np.float64)
    return np.asarray((x * x).mean(0).tolist(), dtype=np.float64)


def input_scale(square_mean: np.ndarray, left_out: int | None = None) -> float:
    """The factor that gives inputs with E[x_i^2] = ``square_mean`` (d,) a mean square of 1; 1 if all of them are 0.

    The column ``left_out`` does not count.
    """
    counted = square_mean if left_out is None else np.delete(square_mean, left_out)
    return 1.0 / math.sqrt(float(np.mean(counted)) or 1.0)


def with_squares(x: Any, square_mean: np.ndarray | None) -> Any:
    """``(x, x^2 - E x^2)``, (m, 2 d), of x (m, d) and E x^2 (d,); x itself for None; NumPy, torch or JAX."""
    if square_mean is None:
        return x
    if not hasattr(x, "__array_namespace__"):
        import torch

        mean = torch.as_tensor(square_mean, dtype=x.dtype, device=x.device)
        return torch.cat([x, x * x - mean], dim=1)
    xp = x.__array_namespace__()
    return xp.concat([x, x * x - xp.asarray(square_mean, dtype=x.dtype)], axis=1)


def nominal_square_norm(square_mean: np.ndarray, squares: bool) -> float:
    """E|x|^2 of the inputs under their law, where a square counts with variance (E x_i^2)^2.

    It is d for inputs of unit variance, 2 d with squares. Its inverse is the natural ``gamma`` of a kernel:
    scikit-learn's "scale" without looking at the sample, so that all prefixes of a sample share one kernel.
    """
    return float(np.sum(square_mean) + (np.sum(square_mean**2) if squares else 0.0))
