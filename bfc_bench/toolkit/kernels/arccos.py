"""Arc-cosine kernels: closed forms of Gaussian gates, and of infinitely wide ReLU networks of any depth.

With unit vectors x, x' of cosine rho and w ~ N(0, I), E[s(w.x) s(w.x')] is ``k0`` for the step s(t) = 1{t > 0}, ``k1``
for the ReLU s(t) = max(t, 0), ``k2`` for s(t) = max(t, 0)^2 / 2 and ``k3`` for s(t) = max(t, 0)^3 / 6 (Cho & Saul 2009,
with their factor 2 and degree's factorial taken into s).

Networks follow the convention of neural-tangents: ``depth`` hidden layers ``Dense(W_std=sqrt(2)), Relu`` and a read-out
``Dense(W_std=1)``, every Dense with ``b_std = sqrt(bias_variance)``. Without bias NNGP(x, x) = |x|^2/d and
NTK(x, x) = (depth + 1) |x|^2/d.

Shapes: m and n points, d input dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

import torch
from torch import Tensor

from bfc_bench.toolkit.arrays import AnyArray


def k0(rho: AnyArray) -> AnyArray:
    """E[1{w.x > 0} 1{w.x' > 0}] at cosine ``rho`` (any shape; torch, NumPy or JAX): (pi - acos rho) / (2 pi)."""
    xp = _library(rho)
    kernel: AnyArray = (pi - xp.acos(xp.clip(rho, -1, 1))) / (2 * pi)
    return kernel


def k1(rho: AnyArray) -> AnyArray:
    """E[relu(w.x) relu(w.x')] at cosine ``rho``: (sqrt(1 - rho^2) + (pi - acos rho) rho) / (2 pi)."""
    xp = _library(rho)
    rho = xp.clip(rho, -1, 1)
    kernel: AnyArray = (xp.sqrt((1 - rho) * (1 + rho)) + (pi - xp.acos(rho)) * rho) / (2 * pi)
    return kernel


def k2(rho: AnyArray) -> AnyArray:
    """E[relu(w.x)^2/2 relu(w.x')^2/2] at ``rho``: (3 rho sqrt(1 - rho^2) + (pi - acos rho)(1 + 2 rho^2)) / (8 pi)."""
    xp = _library(rho)
    rho = xp.clip(rho, -1, 1)
    kernel: AnyArray = (3 * rho * xp.sqrt((1 - rho) * (1 + rho)) + (pi - xp.acos(rho)) * (1 + 2 * rho**2)) / (8 * pi)
    return kernel


def k3(rho: AnyArray) -> AnyArray:
    """E[relu(w.x)^3/6 relu(w.x')^3/6] at ``rho``.

    (15 s - 11 s^3 + (pi - acos rho)(9 rho + 6 rho^3)) / (72 pi) with s = sqrt(1 - rho^2).
    """
    xp = _library(rho)
    rho = xp.clip(rho, -1, 1)
    squared_sine = (1 - rho) * (1 + rho)
    sine = xp.sqrt(squared_sine)
    outside = (1 - xp.acos(rho) / pi) * rho * (9 + 6 * rho**2) / 72
    kernel: AnyArray = sine * (15 - 11 * squared_sine) / (72 * pi) + outside
    return kernel


def first_layer(x: Tensor, gamma: float, bias_variance: float) -> tuple[Tensor, Tensor]:
    """Directions (m, d or d + 1) and standard deviations (m,) of the first pre-activation.

    Its variance is 2 gamma |x|^2 + bias_variance. Products of directions are cosines. They are a few units of rounding
    too large, so that after clipping those of equal points are exactly 1: near 1 acos turns a rounding error e into
    sqrt(2 e).

    Args:
        x: Points, (m, d).
        gamma: Inverse squared length.
        bias_variance: Variance of the biases.
    """
    columns = sqrt(2 * gamma) * x
    if bias_variance:
        columns = torch.cat([columns, columns.new_full((len(x), 1), sqrt(bias_variance))], dim=1)
    scale = torch.linalg.vector_norm(columns, dim=1)
    return columns * (_upward_factor(x) / scale.clamp_min(torch.finfo(x.dtype).tiny)).unsqueeze(1), scale


def relu_network(
    rho: Tensor,
    left: Tensor,
    right: Tensor,
    scratch: Sequence[Tensor],
    out: Tensor,
    *,
    depth: int,
    bias_variance: float,
    tangent: bool,
    unit: float = 1.0,
) -> Tensor:
    """Write NNGP, or NTK with ``tangent``, over ``unit``, into ``out`` and return it.

    Both kernels are computed relative to left x right: a ReLU takes rho to f1 = 2 k1(rho) and the tangent part to
    itself times f0 = 2 k0.

    Args:
        rho: Cosines of the first pre-activation, (m, n); overwritten.
        left: Its standard deviations, (m,), see ``first_layer``.
        right: The same for the other points, (n,).
        scratch: Three tensors (m, n); overwritten.
        out: The result, (m, n).
        depth: Number of hidden layers.
        bias_variance: Variance of the biases.
        tangent: Whether to compute the NTK.
        unit: Divides the result.
    """
    angle, sine, total = scratch
    one = rho.new_ones(())
    total = total.copy_(rho) if tangent else rho
    left, right = left.unsqueeze(1), right.unsqueeze(0)
    for layer in range(depth):
        torch.acos(rho.clamp_(-1, 1), out=angle)
        torch.sub(one, torch.mul(rho, rho, out=sine), out=sine).sqrt_()
        if tangent:
            total.addcmul_(total, angle, value=-1 / pi)
        rho.add_(sine.addcmul_(angle, rho, value=-1), alpha=1 / pi)
        gain = _gain(layer, depth)
        if bias_variance:
            new_left, new_right = ((gain * v**2 + bias_variance).sqrt() for v in (left, right))
            shrink_left, shrink_right = sqrt(gain) * left / new_left, sqrt(gain) * right / new_right
            rho.mul_(shrink_left).mul_(shrink_right).addcmul_(1 / new_left, 1 / new_right, value=bias_variance)
            rho.mul_(_upward_factor(rho))
            if tangent:
                total.mul_(shrink_left).mul_(shrink_right)
        else:
            new_left, new_right = sqrt(gain) * left, sqrt(gain) * right
        left, right = new_left, new_right
        if tangent:
            total.add_(rho)
    return torch.mul(total.mul_(right), left / unit, out=out)


def relu_network_diagonal(scale: Tensor, depth: int, bias_variance: float, tangent: bool) -> Tensor:
    """The kernel of each point with itself, (m,).

    Args:
        scale: Standard deviations of the first pre-activation, (m,).
        depth: Number of hidden layers.
        bias_variance: Variance of the biases.
        tangent: Whether to compute the NTK.
    """
    variance = scale**2
    total = variance.clone()
    for layer in range(depth):
        variance = _gain(layer, depth) * variance + bias_variance
        total = _gain(layer, depth) * total + variance
    return total if tangent else variance


def _upward_factor(like: Tensor) -> float:
    return 1.0 + 4 * float(torch.finfo(like.dtype).eps)


def _gain(layer: int, depth: int) -> float:
    """W_std^2 / 2 of the Dense after ReLU number ``layer``: a ReLU halves the variance, the read-out has W_std = 1."""
    return 0.5 if layer == depth - 1 else 1.0


def _library(array: AnyArray) -> Any:
    return torch if isinstance(array, Tensor) else array.__array_namespace__()
