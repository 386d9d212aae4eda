"""Kernel ridge regression along a learning curve: all prefixes of a nested sample from one Cholesky factor per ridge.

With K + ridge I = L L^T, the leading n x n block of L is the factor of the first n points, and the leading n entries of
L^-1 y are theirs as well. So one factorisation and two triangular solves give the coefficients at all sizes and for all
targets. The ridge is absolute, so that no prefix depends on the points after it.

Shapes: N points, K sizes, r targets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bfc_bench.toolkit.arrays import empty_matrix
from bfc_bench.toolkit.band import Band

JITTERS = (0.0, 1e-12, 1e-10, 1e-8)
"""Values added to the ridge, in turn, if rounding makes K + ridge I indefinite; kernels are about 1 on the diagonal."""


@dataclass(frozen=True)
class Coefficients:
    """Predictions ``k(x, X_N) @ weights[:, k] + offsets[k]`` of the fit to the first ``sizes[k]`` points."""

    weights: Tensor
    """(N, K, r); zero beyond the first ``sizes[k]`` points."""
    offsets: Tensor
    """(K, r): means of the first ``sizes[k]`` targets, or zeros."""
    jitters: tuple[float | None, ...]
    """What was added to the ridge, by size; None where no jitter gave a factor and weights are not set."""


class RidgeCurve:
    """Solves for many ridges with one kernel matrix; has one N x N buffer for a factor or band."""

    def __init__(self, kernel: Tensor) -> None:
        """``kernel`` (N, N), float64, CPU or CUDA; only its lower triangle is read."""
        self.kernel = kernel
        self._on_gpu = kernel.is_cuda
        self._buffer = empty_matrix(len(kernel), len(kernel), kernel).view(-1)

    def solve(self, y: Tensor, sizes: Sequence[int], ridge: float, center: bool = True) -> Coefficients:
        """Solutions of (K_n + ridge I) weights = y_n - offset for every size n and each target.

        Sizes at which rounding leaves no factor are solved with the first of ``JITTERS`` that gives one.
        """
        weights = y.new_zeros(len(self.kernel), len(sizes), y.shape[1])
        offsets = torch.stack([y[:n].mean(0) if center else y.new_zeros(y.shape[1]) for n in sizes])
        jitters: list[float | None] = [None] * len(sizes)
        pending = set(range(len(sizes)))
        for jitter in JITTERS:
            solvable = pending
            while solvable:
                factor, indefinite = self._factor(max(sizes[k] for k in solvable), ridge + jitter)
                if not indefinite:
                    self._substitute(factor, y, {k: sizes[k] for k in solvable}, offsets, weights)
                    jitters = [jitter if k in solvable else earlier for k, earlier in enumerate(jitters)]
                    pending = pending - solvable
                    break
                solvable = {k for k in solvable if sizes[k] < indefinite}
        return Coefficients(weights, offsets, tuple(jitters))

    def band(self, n: int) -> Band:
        """The leading block of order n, on the CPU, for many ridges; it is valid until the next call of a method."""
        return Band(self._buffer[: n * n].view(n, n).copy_(self.kernel[:n, :n]))

    def _factor(self, order: int, shift: float) -> tuple[Tensor, int]:
        """Lower factor of the leading block + shift I, (order, order), and the first indefinite minor or 0."""
        factor = self._buffer[: order * order].view(order, order)
        block = self.kernel[:order, :order]
        if self._on_gpu:
            indefinite = _factor_on_gpu(block, shift, factor)
        else:
            from scipy.linalg.lapack import dpotrf

            factor.copy_(block).diagonal().add_(shift)
            # In place: a row-major lower triangle is LAPACK's upper one.
            indefinite = dpotrf(factor.numpy().T, lower=0, clean=0, overwrite_a=1)[1]
        if not indefinite and not (finite := factor.diagonal().isfinite()).all():
            indefinite = int(finite.int().argmin()) + 1
        return factor, indefinite

    @staticmethod
    def _substitute(factor: Tensor, y: Tensor, sizes: dict[int, int], offsets: Tensor, weights: Tensor) -> None:
        """Fill in ``weights`` for the given sizes, by index."""
        order, count = len(factor), y.shape[1]
        whitened = torch.linalg.solve_triangular(
            factor, torch.cat([y[:order], y.new_ones(order, 1)], dim=1), upper=False
        )
        columns = y.new_zeros(order, len(sizes), count)
        for column, (k, n) in enumerate(sizes.items()):
            columns[:n, column] = whitened[:n, :count] - whitened[:n, count:] * offsets[k]
        solved = torch.linalg.solve_triangular(factor.mT, columns.view(order, -1), upper=True)
        weights[:order, list(sizes)] = solved.view(order, len(sizes), count)


def _factor_on_gpu(block: Tensor, shift: float, factor: Tensor) -> int:
    """Write the lower factor of block + shift I, (order, order), to ``factor``; returns the first indefinite minor or
    0.

    torch does not promise that the output may be the input. To save a third matrix, the shift is added to the diagonal
    of the block itself and removed before this returns.
    """
    info = torch.empty((), dtype=torch.int32, device=block.device)
    diagonal = block.diagonal()
    before = diagonal.clone()
    try:
        diagonal.add_(shift)
        # Transposed: a row-major lower triangle is the upper one that cuSOLVER writes without a copy.
        torch.linalg.cholesky_ex(block.mT, upper=True, out=(factor.mT, info))
    finally:
        diagonal.copy_(before)
    return int(info)
