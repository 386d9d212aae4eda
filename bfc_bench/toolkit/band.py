"""Kernel ridge regression with many ridges at one size: one reduction of the matrix to a band serves all ridges.

Householder reflections in blocks give K = Q B Q^T with a band matrix B, nearly all in matrix products. Then
K + ridge I = Q (B + ridge I) Q^T, and each ridge costs a factor of a band only (Bischof, Lang and Sun 2000, A Framework
for Symmetric Band Reduction).

Shapes: n points, r columns, w the width of the band, m the order of what is left to reduce.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

WIDTH = 96
"""Number of diagonals below the main one, and of reflections in a block."""
TILE = 192
"""Number of rows of the lower triangle that are multiplied together."""


def banded_sizes(wanted: Mapping[float, Sequence[int]], columns: int) -> list[int]:
    """Sizes that cost least by bands, for wanted sizes by ridge and a number of targets; the largest ones or none.

    A band serves all ridges of one size; a factor serves all sizes of one ridge, and its order is the largest size that
    is left.
    """
    sizes = sorted({n for kept in wanted.values() for n in kept}, reverse=True)

    def cost(count: int) -> float:
        bands = (_band_flops(n, sum(n in kept for kept in wanted.values()), columns) for n in sizes[:count])
        left = ([n for n in kept if n in sizes[count:]] for kept in wanted.values())
        return sum(bands) + sum(_factor_flops(max(kept), len(kept), columns) for kept in left if kept)

    return sizes[: min(range(len(sizes) + 1), key=cost)]


def _band_flops(n: int, ridges: int, columns: int) -> float:
    """Reduction, reflections of columns and factors of bands, counted as ``_factor_flops`` by measured seconds."""
    return 1.6 * n**3 + n**2 * (200.0 + 3.3 * columns * (1 + ridges)) + 4e4 * n * ridges


def _factor_flops(n: int, sizes: int, columns: int) -> float:
    """Factor and substitutions; on one thread of an AMD EPYC, 4e10 of these took a second."""
    return n**3 / 3 + n**2 * (8.0 + 2.8 * (1 + columns * (1 + sizes)))


class Band:
    """A symmetric matrix as a band B between orthogonal factors Q = Q_1 Q_2 ..., with Q_j = I - V_j T_j V_j^T."""

    def __init__(self, matrix: Tensor) -> None:
        """``matrix`` (n, n), float64 on the CPU; its lower triangle is overwritten by B and below it the V_j."""
        from scipy.linalg.lapack import dgeqrt

        order = len(matrix)
        self._blocks: list[tuple[Tensor, Tensor]] = []
        """(m, w) columns of the matrix that hold V_j, and T_j (w, w)."""
        for start in range(0, order - WIDTH - 1, WIDTH):
            panel = matrix[start + WIDTH :, start : start + WIDTH]
            reduced, triangle, _ = dgeqrt(min(panel.shape), panel.numpy())
            panel.copy_(torch.from_numpy(reduced))
            self._blocks.append((panel, torch.from_numpy(triangle).triu()))
            _reflect_both_sides(matrix[start + WIDTH :, start + WIDTH :], *self._blocks[-1])
        self.diagonals = matrix.new_zeros(min(WIDTH + 1, order), order)
        """(w + 1, n): row j has the diagonal j places below the main one, padded with zeros."""
        for j, row in enumerate(self.diagonals):
            row[: order - j] = matrix.diagonal(-j)

    def solve(self, targets: Tensor, ridges: Sequence[float]) -> dict[float, Tensor]:
        """(matrix + ridge I)^-1 targets, (n, r), by ridge; none where rounding leaves no factor."""
        rotated, solved = targets.clone(), {}
        for panel, triangle in self._blocks:
            _reflect(rotated[-len(panel) :], panel, triangle.mT)
        for ridge in ridges:
            if (weights := _solve_band(self.diagonals, rotated, ridge)) is not None:
                solved[ridge] = weights
        if not solved:
            return {}
        columns = torch.cat(list(solved.values()), dim=1)
        for panel, triangle in reversed(self._blocks):
            _reflect(columns[-len(panel) :], panel, triangle)
        return dict(zip(solved, columns.split(targets.shape[1], dim=1), strict=True))


def _reflections(panel: Tensor) -> Tensor:
    """V, (m, w), from where LAPACK leaves it: below the diagonal, which is 1."""
    reflections = panel[:, : len(panel)].tril(-1)
    reflections.diagonal().fill_(1.0)
    return reflections


def _reflect(columns: Tensor, panel: Tensor, triangle: Tensor) -> None:
    """(I - V T V^T) columns, (m, r), in place."""
    reflections = _reflections(panel)
    columns -= reflections @ (triangle @ (reflections.mT @ columns))


def _reflect_both_sides(block: Tensor, panel: Tensor, triangle: Tensor) -> None:
    """Q^T block Q for Q = I - V T V^T, in place; of the block (m, m) the lower triangle is read and written.

    With Z = block V T and W = Z - V (T^T V^T Z) / 2 it is block - W V^T - V W^T.
    """
    reflections = _reflections(panel)
    v = reflections.mT.contiguous()
    z = triangle.mT @ _product(v, block)
    w = z - (z @ reflections @ triangle / 2).mT @ v
    left, right = torch.cat([w, v]), torch.cat([v, w])
    for start in range(0, len(block), TILE):
        end = min(start + TILE, len(block))
        block[start:end, :end].addmm_(left[:, start:end].mT, right[:, :end], alpha=-1)


def _product(rows: Tensor, block: Tensor) -> Tensor:
    """rows block, (w, m), for a symmetric block (m, m); its lower triangle is read."""
    product = torch.zeros_like(rows)
    for start in range(0, len(block), TILE):
        end = min(start + TILE, len(block))
        corner, left = block[start:end, start:end].tril(), block[start:end, :start]
        product[:, start:end].addmm_(rows[:, start:end], corner + corner.tril(-1).mT)
        product[:, start:end].addmm_(rows[:, :start], left.mT)
        product[:, :start].addmm_(rows[:, start:end], left)
    return product


def _solve_band(diagonals: Tensor, targets: Tensor, ridge: float) -> Tensor | None:
    """(B + ridge I)^-1 targets, (n, r), or None if that matrix is not positive definite in float64."""
    from scipy.linalg.lapack import dpbtrf, dpbtrs

    shifted = diagonals.clone()
    shifted[0] += ridge
    factor, indefinite = dpbtrf(shifted.numpy(), lower=1)
    if indefinite:
        return None
    weights = torch.from_numpy(dpbtrs(factor, targets.numpy(), lower=1)[0])
    return weights if weights.isfinite().all() else None
