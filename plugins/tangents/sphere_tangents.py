"""Neural tangent kernels on the unit sphere in closed form.

Take a two-layer network m^-1/2 sum_r a_r s(w_r . h) on a fixed representation h and train its first layer only. Its
tangent features at initialisation are m^-1/2 s'(w_r . h) h, for any signs a_r. Their products tend to
E[s'(w.h) s'(w.h')] <h, h'> as m grows, w ~ N(0, I) (NR section 2, NTK-h; Jacot et al. 2018).

For ``ntk-raw`` h is x itself, or (x, 1)/sqrt(2) with a bias; for ``ntk-neural`` it is D^-1/2 g(v_i . x + b_i) with
v_i ~ N(0, I) and, with a bias, b_i ~ N(0, 1) (NR section 5). ``rectified.py`` has the activations s and g. Kernels are
scaled to 1 on the diagonal, which is constant on the sphere.

Shapes: n points, d inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import torch
from bfc_plugins.tangents.rectified import ORDER, Activation, Gate
from torch import Tensor

from bfc_bench.errors import UsageError
from bfc_bench.toolkit.kernels.arccos import k0, k1, k2, k3
from bfc_bench.toolkit.kernels.base import PreparedPoints, ProductKernel

DUALS = (k0, k1, k2, k3)
"""E[s(u) s(u')] of the activation of each order, as a function of the correlation of standard normal u and u'."""
NORM_TOLERANCE = 1e-6
"""Largest accepted distance of |x| from 1."""


def dual(order: int, rho: Tensor) -> Tensor:
    """The dual of the activation of order ``order`` at correlations of any shape, scaled to 1 at rho = 1."""
    at_one = (1, 1, 3, 15)[order] / 2 / factorial(order) ** 2  # E[s(u)^2] = E[u^(2q)] / 2 / q!^2
    return DUALS[order](rho) / at_one


@dataclass(frozen=True)
class SphereTangent(ProductKernel):
    """The kernel of the infinitely wide limit, a function of rho = <x, x'> for unit vectors.

    rho determines the cosine c of representations: (1 + rho)/2 with a bias, then the dual of ``inner``. The kernel is
    c E[s'(u) s'(u')], up to scale: rho k0, rho k1, rho k2 for raw inputs, and H_inf = k1(2 s) s / 2 with
    s = k0((1+rho)/2) for NR's indicator and relu^2/2.
    """

    who: str
    """Name of the learner in error messages."""
    activation: Activation = "relu2"
    bias: bool = True
    inner: Gate | None = None

    def points(self, x: Tensor) -> PreparedPoints:
        """Unit vectors x (n, d). Raises ``UsageError`` unless every row has norm 1 up to 1e-6."""
        norms = torch.linalg.vector_norm(x, dim=1)
        if not ((norms - 1).abs() <= NORM_TOLERANCE).all():
            raise UsageError(
                f"{self.who} is defined on the unit sphere: every input must have norm 1. Got norms from "
                f"{norms.min():.6g} to {norms.max():.6g}. Use sphere inputs, or divide each input by its norm."
            )
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
        return cosine * dual(ORDER[self.activation] - 1, cosine)
