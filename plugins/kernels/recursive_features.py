"""Recursive feature machines: the metric of a kernel becomes the average outer product of the fit's gradients.

Source: Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383 (2024), Algorithm 1: fit f by kernel ridge regression with
k(M^(1/2) z, M^(1/2) z'), set M = (1/n) sum_i grad f(z_i) grad f(z_i)^T, repeat.

Shapes: n points z with p coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from bfc_plugins.kernels.leave_one_out import ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from torch import Tensor

ROUNDS = 9


def outer_product(z: Tensor, y: Tensor, kernel: Poly, ridges: Sequence[float]) -> Tensor | None:
    """M (p, p) of the last round of a fit to labels y (n,); None if not even round 1 could be solved."""
    outer = None
    square_norm = float((z**2).sum(1).mean()) or 1.0
    root = torch.eye(z.shape[1], dtype=z.dtype, device=z.device) / square_norm**0.5
    for _ in range(ROUNDS):
        u = z @ root
        fit = ridge_fit(kernel.matrix(u, u), y, ridges)
        if not math.isfinite(fit.error):
            break
        slopes = kernel.gradients(u, u, fit.weights) @ root.T
        outer = slopes.T @ slopes / len(z)
        root = scaled_root(outer, z)
    return outer


def scaled_root(outer: Tensor, z: Tensor) -> Tensor:
    """M^(1/2) (p, p) for M proportional to ``outer`` (p, p) with mean |M^(1/2) z|^2 = 1 over the points z (n, p)."""
    values, vectors = torch.linalg.eigh(outer)
    root = vectors * values.clamp(min=0).sqrt() @ vectors.T
    size = torch.linalg.vecdot(z @ root, z @ root).mean().sqrt()
    scaled: Tensor = root / torch.where(size > 0, size, 1.0)
    return scaled


def leading_axes(outer: Tensor, count: int) -> Tensor:
    """The ``count`` eigenvectors (p, count) of largest eigenvalue of a symmetric ``outer`` (p, p), largest first."""
    axes: Tensor = torch.linalg.eigh(outer)[1].flip(1)[:, :count]
    return axes
