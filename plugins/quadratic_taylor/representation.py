"""Features of a fixed random layer, whitened on unlabeled inputs.

"Benefits of Neural Representations" (NR), section 4.1 and Algorithm 1, step 1.

Shapes: m points, d input dimension, D features, n_0 unlabeled points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import torch
from bfc_plugins.quadratic_taylor.model import Representation
from torch import Tensor

from bfc_bench.seeds import stream

Inner: TypeAlias = Literal["indicator", "relu2"]
Whitening: TypeAlias = Literal["exact", "ridge", "none", "regularizer"]
RIDGE = 0.3
"""Ridge of whitening, in units of Sigma's mean eigenvalue."""
CHUNK = 2048
"""Number of points whose features are computed at once."""


@dataclass(frozen=True)
class RandomLayer:
    """g(x) = phi(V x + b), phi(t) = 1{t >= 0} or relu(t)^2/2 (NR eq. (3))."""

    weights: Tensor
    """V, (D, d), standard normal."""
    biases: Tensor
    """b, (D,), standard normal or 0."""
    inner: Inner

    @classmethod
    def draw(
        cls, features: int, d: int, inner: Inner, seed: int, like: Tensor, *, level: int = 1, biased: bool = True
    ) -> RandomLayer:
        """Draw D = ``features`` units; with fewer features they are the first of those with more."""
        above = (level,) if level > 1 else ()
        weights = stream(seed, "neural-representation", "V", *above).standard_normal((features, d))
        biases = biased * stream(seed, "neural-representation", "b", *above).standard_normal(features)
        return cls(torch.as_tensor(weights).to(like), torch.as_tensor(biases).to(like), inner)

    def __call__(self, x: Tensor) -> Tensor:
        """g(x), (m, D), at x (m, d)."""
        t = torch.addmm(self.biases, x, self.weights.T)
        return (t >= 0).to(t) if self.inner == "indicator" else t.clamp_(min=0).square_().mul_(0.5)


def second_moment(layer: RandomLayer, x: Tensor) -> Tensor:
    """Sigma = 1/n_0 sum_i g(x_i) g(x_i)^T, (D, D), of points x (n_0, d) (NR eq. (4))."""
    total = x.new_zeros(len(layer.weights), len(layer.weights))
    for part in x.split(CHUNK):
        g = layer(part)
        total.addmm_(g.T, g)
    return total / len(x)


def least_eigenvalue(sigma: Tensor) -> float:
    """lambda_min(Sigma) of NR Assumption 2, or its rounding error where that is larger."""
    eigenvalues = torch.linalg.eigvalsh(sigma)
    return max(float(eigenvalues[0]), len(sigma) * torch.finfo(sigma.dtype).eps * float(eigenvalues[-1]))


def inverse_root(sigma: Tensor, ridge: float = 0.0) -> Tensor:
    """(Sigma + ridge tr(Sigma)/D I)^(-1/2), symmetric, (D, D).

    Directions without variance, up to rounding, are mapped to zero: some indicators are constant on all points.
    """
    eigenvalues, vectors = torch.linalg.eigh(sigma)
    eigenvalues = eigenvalues + ridge * sigma.trace() / len(sigma)
    rounding = len(sigma) * torch.finfo(sigma.dtype).eps * eigenvalues[-1]
    root: Tensor = (vectors * torch.where(eigenvalues > rounding, eigenvalues, torch.inf).rsqrt()) @ vectors.T
    return root


def transformed(
    x: Tensor, layer: RandomLayer, transform: Tensor, scale: float, below: Callable[[Tensor], Tensor] | None
) -> Tensor:
    """h(x) = T g(s x), or T g(s h'(x)) on the representation h' ``below``, (m, D), at x (m, d).

    T = ``transform`` (D, D) is symmetric: a whitening matrix or a multiple of the identity. s = ``scale`` gives the
    layer's inputs a typical norm of 1.
    """
    return layer(scale * (x if below is None else below(x))) @ transform


def represent(
    layer: RandomLayer,
    scale: float,
    points: Tensor,
    whitening: Whitening,
    below: Callable[[Tensor], Tensor] | None = None,
) -> Representation:
    """The representation h(x) = T g(``scale`` x), with Sigma estimated on ``points`` (n_0, d).

    If the layer stands on another representation h', ``points`` are its features and ``below`` is h' itself.

    T is Sigma^(-1/2) (``exact``), (Sigma + ``RIDGE`` tr(Sigma)/D I)^(-1/2) (``ridge``), or the multiple of the identity
    that gives h a mean square norm of D (``none`` and ``regularizer``; the latter whitens the regulariser instead, NR
    section 4.2).
    """
    sigma = second_moment(layer, scale * points)
    if whitening in ("exact", "ridge"):
        transform = inverse_root(sigma, RIDGE if whitening == "ridge" else 0.0)
        root = None
    else:
        factor = math.sqrt(len(sigma) / (float(sigma.trace()) or 1.0))
        transform = factor * torch.eye(len(sigma)).to(sigma)
        root = inverse_root(sigma) / factor if whitening == "regularizer" else None
    features = partial(transformed, layer=layer, transform=transform, scale=scale, below=below)
    return Representation(features, root)
