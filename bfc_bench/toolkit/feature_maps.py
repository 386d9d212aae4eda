"""Random feature maps phi: R^p -> R^D whose products converge to a kernel of ``toolkit.kernels`` as D grows.

Each is drawn without looking at data. A map with fewer features is the first part of one with more, up to a factor.

Shapes: m points, p inputs, D features.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from bfc_bench.seeds import stream

MapName: TypeAlias = Literal["fourier", "relu", "polynomial"]


FeatureMap: TypeAlias = Callable[[Tensor], Tensor]
"""phi(z), (m, D), at z (m, p)."""


def fourier(weights: Tensor, phases: Tensor, z: Tensor) -> Tensor:
    """sqrt(2/D) cos(w.z + b), w ~ N(0, 2 gamma I), b uniform on [0, 2 pi]: ``rbf`` (Rahimi & Recht 2007).

    For weights (D, p) and phases (D,).
    """
    return torch.addmm(phases, z, weights.T).cos_().mul_(math.sqrt(2 / len(weights)))


def relu(weights: Tensor, z: Tensor) -> Tensor:
    """D^-1/2 relu(w.z), w ~ N(0, 2 gamma I), (D, p): ``nngp`` of depth 1, the arc-cosine kernel (Cho & Saul 2009)."""
    return (z @ weights.T).clamp_(min=0).mul_(len(weights) ** -0.5)


def polynomial(weights: Tensor, z: Tensor) -> Tensor:
    """D^-1/2 prod_k w_k.(sqrt(gamma) z, 1) / sqrt 2, k = 1..degree, w_k of random signs: ``poly``.

    Kar & Karnick 2012. For signs with these factors, (degree, D, p + 1).
    """
    forms = [torch.addmm(factor[:, -1], z, factor[:, :-1].T) for factor in weights]
    return torch.stack(forms).prod(0).mul_(weights.shape[1] ** -0.5)


def make_map(
    name: MapName, features: int, p: int, gamma: float, *, degree: int = 2, seed: int, like: Tensor
) -> FeatureMap:
    """Draw a feature map.

    Args:
        name: Which map.
        features: D.
        p: Number of inputs.
        gamma: Inverse squared length of the kernel.
        degree: Degree of the polynomial.
        seed: Seed of the weights.
        like: A tensor whose dtype and device are used.
    """
    if name == "polynomial":
        rngs = [stream(seed, "feature-map", name, factor) for factor in range(degree)]
        signs = np.stack([rng.integers(0, 2, (features, p + 1)) * 2.0 - 1.0 for rng in rngs])
        units = np.append(np.full(p, math.sqrt(gamma)), 1.0) / math.sqrt(2)
        return partial(polynomial, torch.as_tensor(signs * units).to(like))
    normal = stream(seed, "feature-map", name).standard_normal((features, p)) * math.sqrt(2 * gamma)
    weights = torch.as_tensor(normal).to(like)
    if name == "relu":
        return partial(relu, weights)
    phases = stream(seed, "feature-map", "phases").uniform(0, 2 * math.pi, features)
    return partial(fourier, weights, torch.as_tensor(phases).to(like))
