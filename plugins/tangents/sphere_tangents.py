"""Neural tangent kernels on the unit sphere in closed form.

Take a two-layer network m^-1/2 sum_r a_r s(w_r . h) on a fixed representation h and train its first layer only. Its
tangent features at initialisation are m^-1/2 s'(w_r . h) h, for any signs a_r. Their products tend to
E[s'(w.h) s'(w.h')] <h, h'> as m grows, w ~ N(0, I) (NR section 2, NTK-h; Jacot et al. 2018).

For ``ntk-raw`` h is (x, 1)/sqrt(2); for ``ntk-neural`` it is D^-1/2 g(v_i . x + b_i) with v_i ~ N(0, I) and b_i ~
N(0, 1) (NR section 5). As in NR s is relu^2/2 and g the indicator 1{t >= 0}. Kernels are scaled to 1 on the diagonal,
which is constant on the sphere.

Shapes: n points, d inputs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bfc_bench.errors import UsageError
from bfc_bench.toolkit.kernels.arccos import k0, k1
from bfc_bench.toolkit.kernels.base import PreparedPoints, ProductKernel

NORM_TOLERANCE = 1e-6
"""Largest accepted distance of |x| from 1."""


@dataclass(frozen=True)
class SphereTangent(ProductKernel):
    """The kernel of the infinitely wide limit, a function of rho = <x, x'> for unit vectors.

    rho determines the cosine c of representations: (1 + rho)/2, then 2 k0 of it if they are random. The kernel is
    c E[s'(u) s'(u')] = c k1(c), up to scale; if they are random it is NR's H_inf = k1(2 s) s / 2, s = k0((1 + rho)/2).
    """

    who: str
    """Name of the learner in error messages."""
    represented: bool
    """Whether h is the random representation instead of x."""

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
        cosine = (1 + rho.clamp(-1, 1)) / 2
        if self.represented:
            cosine = 2 * k0(cosine)
        return 2 * cosine * k1(cosine)
