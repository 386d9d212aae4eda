"""Kernel ridge regression whose ridge is chosen by its leave-one-out error.

Without point i, the fit to the others errs at z_i by w_i / (K + ridge I)^-1_ii, with the weights w of the fit to all n
points (the predicted residual sum of squares, Allen, Technometrics 16, 1974). No point is held out of the fit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RidgeFit:
    """The function ``sum_i w_i k(., z_i)``."""

    weights: Tensor
    """(n,)."""
    ridge: float
    error: float
    """Mean square leave-one-out error; infinite if no ridge gave a fit."""


def ridge_fit(kernel: Tensor, y: Tensor, ridges: Sequence[float]) -> RidgeFit:
    """The fit whose ridge has the least leave-one-out error.

    Ridges for which rounding leaves no Cholesky factor are passed over; if none is left, the weights are 0.
    """
    best = RidgeFit(torch.zeros_like(y), ridges[0], math.inf)
    for ridge in ridges:
        shifted = kernel.clone()
        shifted.diagonal().add_(ridge)
        factor, indefinite = torch.linalg.cholesky_ex(shifted)
        if indefinite or not factor.diagonal().isfinite().all():
            continue
        weights = torch.cholesky_solve(y[:, None], factor)[:, 0]
        inverse = _lower_inverse(factor)
        left_out = weights / torch.linalg.vecdot(inverse, inverse, dim=0)
        error = float(torch.linalg.vecdot(left_out, left_out) / len(y))
        if error < best.error:
            best = RidgeFit(weights, ridge, error)
    return best


def _lower_inverse(factor: Tensor) -> Tensor:
    """L^-1 of a lower triangular L (n, n)."""
    if factor.is_cuda:
        identity = torch.eye(len(factor), dtype=factor.dtype, device=factor.device)
        solved: Tensor = torch.linalg.solve_triangular(factor, identity, upper=False)
        return solved
    from scipy.linalg.lapack import dtrtri

    # A row-major lower triangle is LAPACK's upper one. A third of the work of solving with the identity.
    return torch.from_numpy(dtrtri(factor.contiguous().numpy().T, lower=0)[0].T)
