"""Kernel matrices, computed in tiles so that all temporaries stay in cache.

Every kernel is 1 on the diagonal if gamma |x|^2 = 1, by a constant in closed form. So an absolute ridge means the same
for all kernels, sizes and samples, and no scale is taken from data.

Shapes: m and n points, p input features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bfc_bench.toolkit.arrays import empty_matrix

TILE = 256
"""Side of a tile on a CPU: a few tiles fit a core's cache."""

GPU_TILE = 2048
"""Side of a tile on a GPU, where it only bounds memory."""


@dataclass(frozen=True)
class PreparedPoints:
    """Points in the form that a kernel works on."""

    features: Tensor
    """(n, p), or (n, p + 1) with a bias."""
    scale: Tensor
    """(n,), what the kernel needs for each point besides products of features."""

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: slice) -> PreparedPoints:
        return PreparedPoints(self.features[rows], self.scale[rows])


class Kernel(ABC):
    """A function of two points, evaluated for a tile of pairs at a time."""

    def points(self, x: Tensor) -> PreparedPoints:
        """Prepare x (n, p)."""
        return PreparedPoints(x, torch.linalg.vecdot(x, x))

    @abstractmethod
    def tile(self, x: PreparedPoints, z: PreparedPoints, scratch: Tensor, out: Tensor) -> None:
        """Write k(x, z) for m points x and n points z into ``out`` (m, n).

        ``scratch``, (4, m n or more), may be overwritten.
        """

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """k(x, x) of each point, (n,), in closed form; 1 for kernels of a distance."""
        return torch.ones_like(points.scale)

    def matrix(self, x: PreparedPoints, z: PreparedPoints) -> Tensor:
        """k(x, z), (m, n)."""
        out = empty_matrix(len(x), len(z), x.features)
        scratch = _scratch(x, z)
        for rows, columns in _tiles(x, z):
            self.tile(x[rows], z[columns], scratch, out[rows, columns])
        return out

    def gram(self, x: PreparedPoints, mirror: bool = True) -> Tensor:
        """k(x, x), (n, n), with an exact diagonal; without ``mirror`` the upper triangle is left undefined."""
        out = empty_matrix(len(x), len(x), x.features)
        scratch = _scratch(x, x)
        for rows, columns in _tiles(x, x):
            if columns.start < rows.stop:
                self.tile(x[rows], x[columns], scratch, out[rows, columns])
                if mirror and rows != columns:
                    out[columns, rows] = out[rows, columns].T
        out.diagonal().copy_(self.diagonal(x))
        return out

    def matmul(self, x: PreparedPoints, z: PreparedPoints, weights: Tensor) -> Tensor:
        """k(x, z) @ weights, (m, r), for m points x, n points z and weights (n, r), without storing k(x, z)."""
        out = weights.new_zeros(len(x), weights.shape[1])
        scratch = _scratch(x, z)
        block = torch.empty_like(scratch[0])
        for rows, columns in _tiles(x, z):
            part, others = x[rows], z[columns]
            tile = block[: len(part) * len(others)].view(len(part), len(others))
            self.tile(part, others, scratch, tile)
            out[rows].addmm_(tile, weights[columns])
        return out


class ProductKernel(Kernel):
    """A kernel that depends on products of features and one number per point."""

    @abstractmethod
    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """Write kernel values into ``out``.

        Args:
            products: Products of features, (m, n); may be overwritten, since new memory is slow.
            left: Scales of the first points, (m,).
            right: Scales of the second points, (n,).
            scratch: Three tensors (m, n); may be overwritten.
            out: The values, (m, n).
        """

    def tile(self, x: PreparedPoints, z: PreparedPoints, scratch: Tensor, out: Tensor) -> None:
        """See ``Kernel.tile``."""
        products, *spare = scratch[:, : len(x) * len(z)].unflatten(1, (len(x), len(z)))
        self.finish(torch.mm(x.features, z.features.T, out=products), x.scale, z.scale, spare, out)


def _scratch(x: PreparedPoints, z: PreparedPoints) -> Tensor:
    """Memory for one tile of k(x, z) at a time, (4, entries)."""
    side = _side(x)
    return x.features.new_empty(4, min(side, len(x)) * min(side, len(z)))


def _tiles(x: PreparedPoints, z: PreparedPoints) -> list[tuple[slice, slice]]:
    """The tiles of k(x, z), (m, n), as slices."""
    m, n, side = len(x), len(z), _side(x)
    return [
        (slice(i, min(i + side, m)), slice(j, min(j + side, n))) for i in range(0, m, side) for j in range(0, n, side)
    ]


def _side(x: PreparedPoints) -> int:
    return GPU_TILE if x.features.is_cuda else TILE
