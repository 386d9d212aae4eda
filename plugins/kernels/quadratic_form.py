"""Fits quadratic forms to functions from their values at points.

Shapes: n points, p inputs, r functions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge import RidgeCurve

RIDGE = 1e-6
"""Ridge of the regression; a small one, because the values have no noise."""


def quadratic_forms(z: Tensor, values: Sequence[Tensor], square_norm: float) -> list[Tensor]:
    """Fit ``constant + b.z + z^T M z`` to each of r functions by least squares of least norm.

    The norm is that of the polynomial kernel ((1 + gamma <z, z'>) / 2)^2, gamma = 1 / ``square_norm``, for which a
    function with weights w_i at z_i has M = (gamma / 2)^2 sum_i w_i z_i z_i^T. All functions share one factorisation.
    ``values`` (n_k,) are those of function k at the first n_k points.
    """
    gamma = 1 / (square_norm or 1.0)
    kernel = make_kernel("poly", gamma, degree=2, coef0=1.0)
    targets = z.new_zeros(len(z), len(values))
    for column, column_values in enumerate(values):
        targets[: len(column_values), column] = column_values
    sizes = sorted({len(column_values) for column_values in values})
    weights = RidgeCurve(kernel.gram(kernel.points(z), mirror=False)).solve(targets, sizes, RIDGE).weights
    columns = [weights[:, sizes.index(len(column_values)), column, None] for column, column_values in enumerate(values)]
    return [(gamma / 2) ** 2 * (z.T @ (column * z)) for column in columns]


def leading_directions(form: Tensor, count: int) -> Tensor:
    """The ``count`` eigenvectors of largest |eigenvalue| of a symmetric ``form`` (p, p), as columns, largest first."""
    eigenvalues, vectors = torch.linalg.eigh(form)
    directions: Tensor = vectors[:, eigenvalues.abs().argsort(descending=True)[:count]]
    return directions
