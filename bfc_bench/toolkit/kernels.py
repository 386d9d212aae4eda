"""Kernel matrices by name, built tile by tile so that every temporary stays in cache.

Every kernel is 1 on the diagonal where gamma |x|^2 = 1, by a constant in closed form: an absolute ridge then means the
same for all kernels, sizes and samples, and no scale is taken from data.

Shapes: m and n points, p input features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from bfc_bench.toolkit.arccos import first_layer, relu_network, relu_network_diagonal
from bfc_bench.toolkit.arrays import empty_matrix

KernelName: TypeAlias = Literal["rbf", "poly", "ntk", "nngp", "compositional"]
Activation: TypeAlias = Literal["relu", "erf", "gelu", "quadratic", "sin", "sigmoid"]

TILE = 256
"""Side of the blocks of a matrix on a CPU: a few of them fit a core's cache."""

GPU_TILE = 2048
"""On a GPU, where it only bounds memory."""


@dataclass(frozen=True)
class Points:
    """Points in the form that a kernel works on."""

    features: Tensor
    """(n, p), or (n, p + 1) with a bias."""
    scale: Tensor
    """(n,), what the kernel needs of each point besides products of features."""

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: slice) -> Points:
        return Points(self.features[rows], self.scale[rows])


class Kernel(ABC):
    """A function of two points, evaluated a tile of pairs at a time."""

    def points(self, x: Tensor) -> Points:
        """Prepare x (n, p)."""
        return Points(x, torch.linalg.vecdot(x, x))

    @abstractmethod
    def tile(self, x: Points, z: Points, scratch: Tensor, out: Tensor) -> None:
        """Write k(x, z) into ``out`` (m, n); ``scratch`` (4, m n or more) may be overwritten."""

    @abstractmethod
    def diagonal(self, points: Points) -> Tensor:
        """k(x, x) of each point, (n,), in closed form."""

    def matrix(self, x: Points, z: Points) -> Tensor:
        """k(x, z), (m, n)."""
        out = empty_matrix(len(x), len(z), x.features)
        scratch = _scratch(x, z)
        for rows, columns in _tiles(x, z):
            self.tile(x[rows], z[columns], scratch, out[rows, columns])
        return out

    def gram(self, x: Points, mirror: bool = True) -> Tensor:
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

    def matmul(self, x: Points, z: Points, weights: Tensor) -> Tensor:
        """k(x, z) @ weights, (m, r) for weights (n, r), without storing k(x, z)."""
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
    """A function of products of features and of one number per point."""

    @abstractmethod
    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """Write kernel values into ``out`` (m, n), from products (m, n) of features and scales left (m,), right (n,).

        ``products`` and ``scratch``, three of the same shape, may be overwritten: memory that is new to the process is
        slow.
        """

    def tile(self, x: Points, z: Points, scratch: Tensor, out: Tensor) -> None:
        """See ``Kernel.tile``."""
        products, *spare = scratch[:, : len(x) * len(z)].unflatten(1, (len(x), len(z)))
        self.finish(torch.mm(x.features, z.features.T, out=products), x.scale, z.scale, spare, out)


@dataclass(frozen=True)
class Rbf(ProductKernel):
    """exp(-gamma |x - z|^2)."""

    gamma: float

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are squared norms."""
        torch.exp(products.mul_(2).sub_(left.unsqueeze(1)).sub_(right).clamp_(max=0).mul_(self.gamma), out=out)

    def diagonal(self, points: Points) -> Tensor:
        """Ones."""
        return torch.ones_like(points.scale)


@dataclass(frozen=True)
class Polynomial(ProductKernel):
    """((coef0 + gamma <x, z>) / (coef0 + 1))^degree."""

    gamma: float
    degree: int = 2
    coef0: float = 1.0

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are not used."""
        products.mul_(self.gamma / (self.coef0 + 1)).add_(self.coef0 / (self.coef0 + 1))
        torch.pow(products, self.degree, out=out)

    def diagonal(self, points: Points) -> Tensor:
        """The formula with <x, x> = |x|^2."""
        return ((self.coef0 + self.gamma * points.scale) / (self.coef0 + 1)) ** self.degree


@dataclass(frozen=True)
class ReluNetwork(ProductKernel):
    """NNGP, or NTK with ``tangent``, of a ReLU network with ``depth`` hidden layers; see ``toolkit.arccos``.

    neural-tangents' kernel at gamma = 1/p, divided by its value at a point with gamma |x|^2 = 1 (without bias, 1 for
    the NNGP and depth + 1 for the NTK).
    """

    gamma: float
    depth: int = 1
    bias_variance: float = 0.0
    tangent: bool = True

    def points(self, x: Tensor) -> Points:
        """Directions and standard deviations of the first pre-activation."""
        return Points(*first_layer(x, self.gamma, self.bias_variance))

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are standard deviations."""
        relu_network(
            products,
            left,
            right,
            scratch,
            out,
            depth=self.depth,
            bias_variance=self.bias_variance,
            tangent=self.tangent,
            unit=self._unit(),
        )

    def diagonal(self, points: Points) -> Tensor:
        """In closed form: every cosine is 1."""
        return relu_network_diagonal(points.scale, self.depth, self.bias_variance, self.tangent) / self._unit()

    def _unit(self) -> float:
        at_one = torch.tensor(sqrt(2 + self.bias_variance), dtype=torch.float64)
        return float(relu_network_diagonal(at_one, self.depth, self.bias_variance, self.tangent))


def make_kernel(
    name: KernelName,
    gamma: float,
    *,
    depth: int = 1,
    degree: int = 2,
    coef0: float = 1.0,
    bias_variance: float = 0.0,
    activation: Activation = "relu",
) -> Kernel:
    """The kernel called ``name`` of inverse squared length ``gamma`` > 0; options of other kernels are ignored."""
    if name == "rbf":
        return Rbf(gamma)
    if name == "poly":
        return Polynomial(gamma, degree, coef0)
    if name == "compositional":
        from bfc_bench.toolkit.compositional import Compositional

        return Compositional(gamma, activation, depth)
    return ReluNetwork(gamma, depth, bias_variance, tangent=name == "ntk")


def _scratch(x: Points, z: Points) -> Tensor:
    """Memory for one tile of k(x, z) at a time, (4, entries)."""
    side = _side(x)
    return x.features.new_empty(4, min(side, len(x)) * min(side, len(z)))


def _tiles(x: Points, z: Points) -> list[tuple[slice, slice]]:
    """Blocks of k(x, z), (m, n)."""
    m, n, side = len(x), len(z), _side(x)
    return [
        (slice(i, min(i + side, m)), slice(j, min(j + side, n))) for i in range(0, m, side) for j in range(0, n, side)
    ]


def _side(x: Points) -> int:
    return GPU_TILE if x.features.is_cuda else TILE
