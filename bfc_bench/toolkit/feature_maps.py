"""Random feature maps phi: R^p -> R^D whose products converge to a kernel of ``toolkit.kernels`` as D grows.

Each is drawn without looking at data. A map with fewer features is the first part of one with more, up to a factor.

Shapes: m points, p inputs, D features.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from bfc_bench.seeds import stream

MapName: TypeAlias = Literal["fourier", "relu", "polynomial"]


class FeatureMap(ABC):
    """A fixed function of points."""

    @abstractmethod
    def __call__(self, z: Tensor) -> Tensor:
        """phi(z), (m, D), at z (m, p)."""


@dataclass(frozen=True)
class Fourier(FeatureMap):
    """sqrt(2/D) cos(w.z + b), w ~ N(0, 2 gamma I), b uniform on [0, 2 pi]: ``rbf`` (Rahimi & Recht 2007)."""

    weights: Tensor
    """(D, p)."""
    phases: Tensor
    """(D,)."""

    def __call__(self, z: Tensor) -> Tensor:
        """See ``FeatureMap``."""
        return torch.addmm(self.phases, z, self.weights.T).cos_().mul_(math.sqrt(2 / len(self.weights)))


@dataclass(frozen=True)
class Relu(FeatureMap):
    """D^-1/2 relu(w.z), w ~ N(0, 2 gamma I): ``nngp`` of depth 1, the arc-cosine kernel (Cho & Saul 2009)."""

    weights: Tensor
    """(D, p)."""

    def __call__(self, z: Tensor) -> Tensor:
        """See ``FeatureMap``."""
        return (z @ self.weights.T).clamp_(min=0).mul_(len(self.weights) ** -0.5)


@dataclass(frozen=True)
class RandomPolynomial(FeatureMap):
    """D^-1/2 prod_k w_k.(sqrt(gamma) z, sqrt(coef0)) / sqrt(1 + coef0), k = 1..degree, w_k of random signs: ``poly``.

    Kar & Karnick 2012.
    """

    weights: Tensor
    """(degree, D, p + 1)."""

    def __call__(self, z: Tensor) -> Tensor:
        """See ``FeatureMap``."""
        forms = [torch.addmm(weights[:, -1], z, weights[:, :-1].T) for weights in self.weights]
        return torch.stack(forms).prod(0).mul_(self.weights.shape[1] ** -0.5)


def make_map(
    name: MapName, features: int, p: int, gamma: float, *, degree: int = 2, coef0: float = 1.0, seed: int, like: Tensor
) -> FeatureMap:
    """Draw a feature map.

    Args:
        name: Which map.
        features: D.
        p: Number of inputs.
        gamma: Inverse squared length of the kernel.
        degree: Degree of the polynomial.
        coef0: Constant term of the polynomial.
        seed: Seed of the weights.
        like: A tensor whose dtype and device are used.
    """
    if name == "polynomial":
        rngs = [stream(seed, "feature-map", name, factor) for factor in range(degree)]
        signs = np.stack([rng.integers(0, 2, (features, p + 1)) * 2.0 - 1.0 for rng in rngs])
        units = np.append(np.full(p, math.sqrt(gamma)), math.sqrt(coef0)) / math.sqrt(1 + coef0)
        return RandomPolynomial(torch.as_tensor(signs * units).to(like))
    normal = stream(seed, "feature-map", name).standard_normal((features, p)) * math.sqrt(2 * gamma)
    weights = torch.as_tensor(normal).to(like)
    if name == "relu":
        return Relu(weights)
    phases = stream(seed, "feature-map", "phases").uniform(0, 2 * math.pi, features)
    return Fourier(weights, torch.as_tensor(phases).to(like))
