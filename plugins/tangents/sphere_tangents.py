"""Neural tangent kernels on the unit sphere in closed form, and random tangent features that tend to them.

Take a two-layer network m^-1/2 sum_r a_r s(w_r . h) on a fixed representation h and train its first layer only. Its
tangent features at initialisation are m^-1/2 s'(w_r . h) h, for any signs a_r. Their products tend to
E[s'(w.h) s'(w.h')] <h, h'> as m grows, w ~ N(0, I) (NR section 2, NTK-h; Jacot et al. 2018).

For ``ntk-raw`` h is x itself, or (x, 1)/sqrt(2) with a bias; for ``ntk-neural`` it is D^-1/2 g(v_i . x + b_i) with
v_i ~ N(0, I) and, with a bias, b_i ~ N(0, 1) (NR section 5). ``rectified.py`` has the activations s and g. Kernels and
features are scaled to 1 on the diagonal, which is constant on the sphere.

Shapes: n points, d inputs, D dimension of the representation, m width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, sqrt

import torch
from bfc_plugins.tangents.rectified import ORDER, Activation, Gate
from torch import Tensor

from bfc_bench.errors import UsageError
from bfc_bench.seeds import stream
from bfc_bench.toolkit.feature_maps import FeatureMap
from bfc_bench.toolkit.kernels.arccos import k0, k1, k2, k3
from bfc_bench.toolkit.kernels.base import Kernel, PreparedPoints, ProductKernel

DUALS = (k0, k1, k2, k3)
"""E[s(u) s(u')] of the activation of each order, as a function of the correlation of standard normal u and u'."""
NORM_TOLERANCE = 1e-6
"""Largest accepted distance of |x| from 1."""


def dual(order: int, rho: Tensor) -> Tensor:
    """The dual of the activation of order ``order`` at correlations of any shape, scaled to 1 at rho = 1."""
    return DUALS[order](rho) / _at_one(order)


def check_unit_norm(who: str, x: Tensor) -> None:
    """Raise ``UsageError`` unless every row of x (n, d) has norm 1 up to 1e-6."""
    norms = torch.linalg.vector_norm(x, dim=1)
    if not ((norms - 1).abs() <= NORM_TOLERANCE).all():
        raise UsageError(
            f"{who} is defined on the unit sphere: every input must have norm 1. Got norms from {norms.min():.6g} to "
            f"{norms.max():.6g}. Use sphere inputs, or divide each input by its norm."
        )


@dataclass(frozen=True)
class SphereTangent(ProductKernel):
    """The kernel of the infinitely wide limit, a function of rho = <x, x'> for unit vectors.

    rho determines the cosine c of representations: (1 + rho)/2 with a bias, then the dual of ``inner``. With ``depth``
    = 1 the kernel is c E[s'(u) s'(u')], up to scale: rho k0, rho k1, rho k2 for raw inputs, and H_inf = k1(2 s) s / 2
    with s = k0((1+rho)/2) for NR's indicator and relu^2/2. Deeper networks, with all hidden layers trained and the
    variance of pre-activations preserved, follow T_1 = c k'(c), T_l = (T_{l-1} + c_{l-1}) k'(c_{l-1}),
    c_l = k(c_{l-1}), with k and k' the duals of s and of s', both divided by k(1).
    """

    who: str
    """Name of the learner in error messages."""
    activation: Activation = "relu2"
    bias: bool = True
    inner: Gate | None = None
    depth: int = 1

    def points(self, x: Tensor) -> PreparedPoints:
        """Unit vectors x (n, d). Raises ``UsageError`` for others."""
        check_unit_norm(self.who, x)
        # Slightly longer than 1, so that products of equal points are exactly 1 after clipping.
        return PreparedPoints(x * (1 + 4 * torch.finfo(x.dtype).eps), x.new_ones(len(x)))

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; ``left`` and ``right`` are not used."""
        out.copy_(self.at(products))

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """Ones."""
        return torch.ones_like(points.scale)

    def at(self, rho: Tensor) -> Tensor:
        """The kernel at cosines of inputs, of any shape."""
        cosine = rho.clamp(-1, 1)
        if self.bias:
            cosine = (1 + cosine) / 2
        if self.inner is not None:
            cosine = dual(ORDER[self.inner], cosine)
        order = ORDER[self.activation]
        gain = _at_one(order - 1) / _at_one(order)
        gate, unit = dual(order - 1, cosine), 1.0
        kernel = cosine * gate
        for _ in range(self.depth - 1):
            cosine = dual(order, cosine)
            gate = dual(order - 1, cosine)
            kernel, unit = (gain * kernel + cosine) * gate, gain * unit + 1
        return kernel / unit


@dataclass(frozen=True)
class RandomTangents(FeatureMap):
    """The m D tangent features of m units on a representation of dimension D; their mean square norm is 1."""

    who: str
    activation: Activation
    bias: bool
    units: Tensor
    """w, (m, D)."""
    inner: Gate | None = None
    representation: Tensor | None = None
    """(v, b), (D, d), or (D, d + 1) with a bias; None without an inner layer."""

    @classmethod
    def draw(
        cls,
        who: str,
        seed: int,
        like: Tensor,
        *,
        activation: Activation,
        bias: bool,
        width: int,
        inner: Gate | None = None,
        features: int = 0,
    ) -> RandomTangents:
        """Draw the random weights.

        Args:
            who: name of the learner in error messages.
            seed: seed of the cell.
            like: tensor (n, d) with the dimension, dtype and device of the inputs.
            activation: activation of the units.
            bias: whether the inputs get a constant coordinate.
            width: number of units m.
            inner: activation of the inner units, or None for raw inputs.
            features: number of inner units D.
        """
        dimension = like.shape[1] + bias
        drawn = None
        if inner is not None:
            drawn = _normal(seed, "representation", features, dimension, like)
            dimension = features
        return cls(who, activation, bias, _normal(seed, "units", width, dimension, like), inner, drawn)

    def factors(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Gates s'(w_r . h), (n, m), and h, (n, D), at unit vectors x (n, d); both of mean square norm 1."""
        check_unit_norm(self.who, x)
        # (x, 1)/sqrt(2) and not (x, 1), so that every pre-activation has variance 1, as the duals assume.
        h = torch.cat([x, torch.ones_like(x[:, :1])], dim=1) / sqrt(2) if self.bias else x
        if self.inner is not None and self.representation is not None:
            order = ORDER[self.inner]
            h = _power(h @ self.representation.T, order) / sqrt(_at_one(order) * len(self.representation))
        order = ORDER[self.activation] - 1
        return _power(h @ self.units.T, order) / sqrt(_at_one(order) * len(self.units)), h

    def __call__(self, z: Tensor) -> Tensor:
        """See ``FeatureMap``."""
        gates, h = self.factors(z)
        return (gates.unsqueeze(2) * h.unsqueeze(1)).flatten(1)


@dataclass(frozen=True)
class TangentProducts(Kernel):
    """Kernel of random tangent features, computed as products of gates times products of representations."""

    tangents: RandomTangents

    def points(self, x: Tensor) -> PreparedPoints:
        """Gates and representation side by side, (n, m + D)."""
        gates, h = self.tangents.factors(x)
        return PreparedPoints(torch.cat([gates, h], dim=1), x.new_ones(len(x)))

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """|gates|^2 |h|^2."""
        gates, h = self._factors(points)
        square_norms: Tensor = torch.linalg.vecdot(gates, gates) * torch.linalg.vecdot(h, h)
        return square_norms

    def tile(self, x: PreparedPoints, z: PreparedPoints, scratch: Tensor, out: Tensor) -> None:
        """See ``Kernel.tile``."""
        (gates, h), (other_gates, other_h) = self._factors(x), self._factors(z)
        torch.mul(gates @ other_gates.T, h @ other_h.T, out=out)

    def _factors(self, points: PreparedPoints) -> tuple[Tensor, Tensor]:
        width = len(self.tangents.units)
        return points.features[:, :width], points.features[:, width:]


def _at_one(order: int) -> float:
    """E[s(u)^2] of the activation of order q: E[u^(2q)] / 2 / q!^2."""
    return (1, 1, 3, 15)[order] / 2 / factorial(order) ** 2


def _power(t: Tensor, order: int) -> Tensor:
    """relu(t)^order / order!, or the indicator of t >= 0."""
    return (t >= 0).to(t.dtype) if order == 0 else t.clamp(min=0) ** order / factorial(order)


def _normal(seed: int, purpose: str, rows: int, columns: int, like: Tensor) -> Tensor:
    """Standard normal numbers, (rows, columns); with fewer rows they are the first of those with more."""
    return torch.as_tensor(stream(seed, "tangents", purpose).standard_normal((rows, columns))).to(like)
