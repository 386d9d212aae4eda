"""Kernels in closed form: RBF, Laplace, polynomial, harmonic, and those of ReLU networks.

Shapes: m and n points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from bfc_bench.toolkit.kernels.arccos import first_layer, relu_network, relu_network_diagonal
from bfc_bench.toolkit.kernels.base import Kernel, PreparedPoints, ProductKernel


@dataclass(frozen=True)
class Rbf(ProductKernel):
    """exp(-gamma |x - z|^2)."""

    gamma: float

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are squared norms."""
        torch.exp(products.mul_(2).sub_(left.unsqueeze(1)).sub_(right).clamp_(max=0).mul_(self.gamma), out=out)

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """Ones."""
        return torch.ones_like(points.scale)


@dataclass(frozen=True)
class Laplace(Kernel):
    """exp(-sqrt(gamma) |x - z|)."""

    gamma: float

    def tile(self, x: PreparedPoints, z: PreparedPoints, scratch: Tensor, out: Tensor) -> None:
        """See ``Kernel.tile``; from differences, since products would lose small distances to rounding."""
        distances = torch.cdist(x.features, z.features, compute_mode="donot_use_mm_for_euclid_dist")
        torch.exp(distances.mul_(-sqrt(self.gamma)), out=out)

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """Ones."""
        return torch.ones_like(points.scale)


@dataclass(frozen=True)
class Harmonic(ProductKernel):
    """(gamma |x| |z|)^degree P(cos), P the Legendre polynomial of this degree in ``dimension`` dimensions.

    It is a reproducing kernel of the homogeneous harmonic polynomials of one degree alone: a learner that knows the
    degree of a harmonic target has no stronger rotation-invariant kernel on the sphere.
    """

    gamma: float
    degree: int
    dimension: int
    """At least 2: P is Chebyshev's polynomial for 2 and Legendre's for 3."""

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are squared norms.

        The recurrence of ``tasks.targets.harmonics.legendre``, multiplied by powers of the norms, so that points of
        norm 0 need no case of their own.
        """
        before, norms, here = scratch
        before.fill_(1.0)
        products.mul_(self.gamma)
        torch.outer(left, right, out=norms).mul_(self.gamma**2)
        here.copy_(products if self.degree else before)
        for q in range(1, self.degree):
            after = before.mul_(norms).mul_(-q)
            after.addcmul_(products, here, value=2 * q + self.dimension - 2).div_(q + self.dimension - 2)
            before, here = here, after
        out.copy_(here)

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """P(1) = 1."""
        return (self.gamma * points.scale) ** self.degree


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

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """The formula with <x, x> = |x|^2."""
        return ((self.coef0 + self.gamma * points.scale) / (self.coef0 + 1)) ** self.degree


@dataclass(frozen=True)
class ReluNetwork(ProductKernel):
    """NNGP, or NTK with ``tangent``, of a ReLU network with ``depth`` hidden layers; see ``toolkit.kernels.arccos``.

    neural-tangents' kernel at gamma = 1/p, divided by its value at a point with gamma |x|^2 = 1 (without bias, 1 for
    the NNGP and depth + 1 for the NTK).
    """

    gamma: float
    depth: int
    bias_variance: float
    tangent: bool

    def points(self, x: Tensor) -> PreparedPoints:
        """Directions and standard deviations of the first pre-activation."""
        return PreparedPoints(*first_layer(x, self.gamma, self.bias_variance))

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

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """In closed form: every cosine is 1."""
        return relu_network_diagonal(points.scale, self.depth, self.bias_variance, self.tangent) / self._unit()

    def _unit(self) -> float:
        at_one = torch.tensor(sqrt(2 + self.bias_variance), dtype=torch.float64)
        return float(relu_network_diagonal(at_one, self.depth, self.bias_variance, self.tangent))
