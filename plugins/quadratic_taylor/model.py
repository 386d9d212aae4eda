"""The quadratic Taylor model of a wide two-layer network over a fixed representation h, and its regularised risk.

"Benefits of Neural Representations" (Chen, Bai et al., NR), model Quad-h and eq. (2).

Shapes: n points, D features, m units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import softplus

from bfc_bench.seeds import stream

Gate: TypeAlias = Literal["indicator", "relu", "constant"]
"""sigma'': ``indicator`` 1{t >= 0} for the paper's sigma = relu^2/2, ``relu`` for relu^3/6, ``constant`` 1/2, the mean
of the first, for t^2/4."""
LossName: TypeAlias = Literal["square", "logistic", "soft-hinge"]
Loss: TypeAlias = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Maps predictions F and labels y, both (n,), to the values of a loss and its derivatives in F, both (n,)."""

BLOCK = 2**17
"""Number of products of points and units handled at once on a CPU, so that they stay in cache."""


def square_loss(prediction: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """(F - y)^2."""
    error = prediction - y
    return error * error, 2 * error


def logistic_loss(prediction: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """log(1 + exp(-y F)), y in {-1, 1}."""
    return softplus(-y * prediction), -y * torch.sigmoid(-y * prediction)


def soft_hinge_loss(prediction: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """log(1 + exp(1 - y F)), y in {-1, 1}."""
    return softplus(1 - y * prediction), -y * torch.sigmoid(1 - y * prediction)


LOSSES: Mapping[LossName, Loss] = {"square": square_loss, "logistic": logistic_loss, "soft-hinge": soft_hinge_loss}


@dataclass(frozen=True)
class Representation:
    """h, with the matrix that the regulariser may need."""

    features: Callable[[Tensor], Tensor]
    """Maps x (n, d) to h(x), (n, D), of mean square norm about D."""
    root_inverse: Tensor | None = None
    """Sigma^(-1/2), (D, D), if the regulariser is sum_r |Sigma^(1/2) w_r|^4; None if it is ||W||_{2,4}^4."""
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class QuadraticTaylor:
    """f_W(h) = 1/(2 sqrt m) sum_r a_r sigma''(w_{0,r}.h) (w_r.h)^2 with W (m, D) to be trained (NR, Quad-h).

    The signs a_r alternate. w_{0,r} ~ N(0, I/D), so that its products with features of norm sqrt(D) have unit variance;
    indicator gates do not depend on this scale.
    """

    initial: Tensor
    """W_0, (m, D)."""
    gate: Gate

    @classmethod
    def draw(cls, width: int, features: int, gate: Gate, seed: int, like: Tensor) -> QuadraticTaylor:
        """Draw a model."""
        initial = stream(seed, "quadratic-taylor", "initial").standard_normal((width, features)) / math.sqrt(features)
        return cls(torch.as_tensor(initial).to(like), gate)

    def coefficients(self, h: Tensor) -> Tensor:
        """a_r sigma''(w_{0,r}.h) / (2 sqrt m), (n, m), at features h (n, D)."""
        width = len(self.initial)
        signs = 1.0 - 2.0 * (torch.arange(width, device=h.device) % 2).to(h)
        signs /= 2 * math.sqrt(width)
        if self.gate == "constant":
            return (signs / 2).expand(len(h), width)
        products = h @ self.initial.T
        return (products.clamp(min=0) if self.gate == "relu" else (products >= 0).to(h)) * signs

    def __call__(self, weights: Tensor, h: Tensor) -> Tensor:
        """f_W(h), (n,), for W (m, D) at features h (n, D)."""
        return (self.coefficients(h) * (h @ weights.T) ** 2).sum(1)


@dataclass(frozen=True)
class RegularisedRisk:
    """mean_i loss(f_W(h_i), y_i) + lambda ||W||_{2,4}^4, ||W||_{2,4}^4 = sum_r |w_r|^4 (NR eq. (2))."""

    features: Tensor
    """h_i, (n, D)."""
    coefficients: Tensor
    """Coefficients of the model at the points, (n, m)."""
    y: Tensor
    """(n,)."""
    loss: Loss

    def __call__(self, weights: Tensor, strength: float) -> tuple[Tensor, Tensor]:
        """Value and gradient (m, D) at W (m, D) for lambda = ``strength``."""
        # D is small: products with a contiguous W^T (D, m) take half as long as with W.
        columns = weights.T.contiguous()
        squares = (weights * weights).sum(1)
        value, gradient = strength * (squares @ squares), columns * (4 * strength * squares)
        rows = len(self.y) if weights.is_cuda else max(1, BLOCK // len(weights))
        parts = (part.split(rows) for part in (self.features, self.coefficients, self.y))
        for h, coefficients, y in zip(*parts, strict=True):
            products = h @ columns
            slopes = coefficients * products
            values, derivatives = self.loss(torch.linalg.vecdot(slopes, products), y)
            slopes *= (2 / len(self.y) * derivatives).unsqueeze(1)
            gradient.addmm_(h.T, slopes)
            value = value + values.sum() / len(self.y)
        return value, gradient.T.contiguous()


def operator_norm(h: Tensor) -> float:
    """M_{h,op} of NR Theorem 1 on n points: sqrt(|1/n sum_i h_i h_i^T|_op) / max_i |h_i|, for features h (n, D).

    It lies between D^-1/2, for isotropic features of equal norm, and 1.
    """
    small = h.T @ h if len(h) > h.shape[1] else h @ h.T
    largest = float(torch.linalg.eigvalsh(small)[-1]) / len(h)
    bound = float((h * h).sum(1).max())
    return math.sqrt(max(largest, 0.0) / bound) if bound > 0 else 0.0
