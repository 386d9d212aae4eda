"""Arc-cosine kernels: closed forms of Gaussian gates, and of infinitely wide ReLU networks of any depth.

With unit vectors x, x' of cosine rho and w ~ N(0, I), E[s(w.x) s(w.x')] is ``k0`` for the step s(t) = 1{t > 0} and
``k1`` for the ReLU s(t) = max(t, 0) (Cho & Saul 2009, with their factor 2 taken into s).

Networks follow the convention of neural-tangents: ``depth`` hidden layers ``Dense(W_std=sqrt(2)), Relu`` and a read-out
``Dense(W_std=1)``, every Dense with ``b_std = sqrt(bias_variance)``. Without bias NNGP(x, x) = |x|^2/d and
NTK(x, x) = (depth + 1) |x|^2/d.

Shapes: m and n points, d input dimension.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi, sqrt

import torch
from torch import Tensor

from bfc_bench.toolkit.kernels.base import PreparedPoints, ProductKernel


def k0(rho: Tensor) -> Tensor:
    """E[1{w.x > 0} 1{w.x' > 0}] at cosines ``rho`` of any shape: (pi - acos rho) / (2 pi)."""
    return (pi - torch.acos(torch.clip(rho, -1, 1))) / (2 * pi)


def k1(rho: Tensor) -> Tensor:
    """E[relu(w.x) relu(w.x')] at cosines ``rho``: (sqrt(1 - rho^2) + (pi - acos rho) rho) / (2 pi)."""
    rho = torch.clip(rho, -1, 1)
    return (torch.sqrt((1 - rho) * (1 + rho)) + (pi - torch.acos(rho)) * rho) / (2 * pi)


@dataclass(frozen=True)
class ReluNetwork(ProductKernel):
    """NNGP, or NTK with ``tangent``, of a ReLU network with ``depth`` hidden layers.

    neural-tangents' kernel at gamma = 1/d, divided by ``unit``.
    """

    gamma: float
    depth: int
    bias_variance: float
    tangent: bool

    @property
    def unit(self) -> float:
        """neural-tangents' kernel of a point with gamma |x|^2 = 1; without bias 1 (NNGP) or depth + 1 (NTK)."""
        return float(self._diagonal(torch.tensor(sqrt(2 + self.bias_variance), dtype=torch.float64)))

    def points(self, x: Tensor) -> PreparedPoints:
        """Directions (m, d or d + 1) and standard deviations (m,) of the first pre-activation.

        Its variance is 2 gamma |x|^2 + bias_variance. Products of directions are cosines. They are a few units of
        rounding too large, so that after clipping those of equal points are exactly 1: near 1 acos turns a rounding
        error e into sqrt(2 e).
        """
        columns = sqrt(2 * self.gamma) * x
        if self.bias_variance:
            columns = torch.cat([columns, columns.new_full((len(x), 1), sqrt(self.bias_variance))], dim=1)
        scale = torch.linalg.vector_norm(columns, dim=1)
        directions = columns * (_upward_factor(x) / scale.clamp_min(torch.finfo(x.dtype).tiny)).unsqueeze(1)
        return PreparedPoints(directions, scale)

    def finish(self, products: Tensor, left: Tensor, right: Tensor, scratch: Sequence[Tensor], out: Tensor) -> None:
        """See ``ProductKernel.finish``; products are cosines rho, scales are standard deviations.

        Both kernels are computed relative to left x right: a ReLU takes rho to f1 = 2 k1(rho) and the tangent part to
        itself times f0 = 2 k0.
        """
        rho = products
        angle, sine, total = scratch
        one = rho.new_ones(())
        total = total.copy_(rho) if self.tangent else rho
        left, right = left.unsqueeze(1), right.unsqueeze(0)
        for layer in range(self.depth):
            torch.acos(rho.clamp_(-1, 1), out=angle)
            torch.sub(one, torch.mul(rho, rho, out=sine), out=sine).sqrt_()
            if self.tangent:
                total.addcmul_(total, angle, value=-1 / pi)
            rho.add_(sine.addcmul_(angle, rho, value=-1), alpha=1 / pi)
            gain = self._gain(layer)
            if self.bias_variance:
                new_left, new_right = ((gain * v**2 + self.bias_variance).sqrt() for v in (left, right))
                shrink_left, shrink_right = sqrt(gain) * left / new_left, sqrt(gain) * right / new_right
                rho.mul_(shrink_left).mul_(shrink_right).addcmul_(1 / new_left, 1 / new_right, value=self.bias_variance)
                rho.mul_(_upward_factor(rho))
                if self.tangent:
                    total.mul_(shrink_left).mul_(shrink_right)
            else:
                new_left, new_right = sqrt(gain) * left, sqrt(gain) * right
            left, right = new_left, new_right
            if self.tangent:
                total.add_(rho)
        torch.mul(total.mul_(right), left / self.unit, out=out)

    def diagonal(self, points: PreparedPoints) -> Tensor:
        """In closed form: every cosine is 1."""
        return self._diagonal(points.scale) / self.unit

    def _diagonal(self, scale: Tensor) -> Tensor:
        """neural-tangents' kernel of each point with itself, (m,), for standard deviations (m,)."""
        variance = scale**2
        total = variance.clone()
        for layer in range(self.depth):
            variance = self._gain(layer) * variance + self.bias_variance
            total = self._gain(layer) * total + variance
        return total if self.tangent else variance

    def _gain(self, layer: int) -> float:
        """W_std^2 / 2 of the Dense after ReLU ``layer``: a ReLU halves the variance; the read-out has W_std = 1."""
        return 0.5 if layer == self.depth - 1 else 1.0


def _upward_factor(like: Tensor) -> float:
    return 1.0 + 4 * float(torch.finfo(like.dtype).eps)
