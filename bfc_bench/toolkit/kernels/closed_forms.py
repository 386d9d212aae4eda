"""Kernels in closed form: RBF, Laplace, polynomial and harmonic.

Shapes: m and n points.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from bfc_bench.toolkit.kernels.base import Kernel, PreparedPoints, ProductKernel


@dataclass(frozen=True)
class Rbf(ProductKernel):
    """exp(-gamma |x - z|^2)."""

    gamma: float

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are squared norms."""
        torch.exp(products.mul_(2).sub_(left.unsqueeze(1)).sub_(right).clamp_(max=0).mul_(self.gamma), out=out)


@dataclass(frozen=True)
class Laplace(Kernel):
    """exp(-sqrt(gamma) |x - z|)."""

    gamma: float

    def tile(self, x: PreparedPoints, z: PreparedPoints, scratch: Tensor, out: Tensor) -> None:
        """See ``Kernel.tile``; from differences, since products would lose small distances to rounding."""
        distances = torch.cdist(x.features, z.features, compute_mode="donot_use_mm_for_euclid_dist")
        torch.exp(distances.mul_(-sqrt(self.gamma)), out=out)


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

        The recurrence of ``utils.legendre.legendre``, multiplied by powers of the norms, so that points of
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
    """((1 + gamma <x, z>) / 2)^degree."""

    gamma: float
    degree: int = 2

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; scales are not used."""
        products.mul_(self.gamma / 2).add_(0.5)
        torch.pow(products, self.degree, out=out)

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """The formula with <x, x> = |x|^2."""
        return ((1 + self.gamma * points.scale) / 2) ** self.degree
