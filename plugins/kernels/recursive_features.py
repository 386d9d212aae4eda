"""Recursive feature machines: the metric of a kernel becomes the average outer product of the fit's gradients.

Source: Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383 (2024), Algorithm 1: fit f by kernel ridge regression with
k(M^(1/2) z, M^(1/2) z'), set M = (1/n) sum_i grad f(z_i) grad f(z_i)^T, repeat.

Shapes: n points z with p coordinates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from bfc_plugins.kernels.leave_one_out import RidgeFit, ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from torch import Tensor


@dataclass(frozen=True)
class Round:
    """The fit of one round."""

    root: Tensor
    """M^(1/2) of the kernel, (p, p)."""
    fit: RidgeFit
    outer: Tensor
    """The average outer product of its gradients, (p, p)."""


def recursive_rounds(z: Tensor, y: Tensor, kernel: Poly, ridges: Sequence[float], count: int = 9) -> list[Round]:
    """The ``count`` rounds of a fit to labels y (n,), fewer if one cannot be solved."""
    rounds: list[Round] = []
    square_norm = float((z**2).sum(1).mean()) or 1.0
    root = torch.eye(z.shape[1], dtype=z.dtype, device=z.device) / square_norm**0.5
    while len(rounds) < count:
        u = z @ root
        fit = ridge_fit(kernel.matrix(u, u), y, ridges)
        if not math.isfinite(fit.error):
            break
        slopes = kernel.gradients(u, u, fit.weights) @ root.T
        rounds.append(Round(root, fit, slopes.T @ slopes / len(z)))
        root = scaled_root(rounds[-1].outer, z)
    return rounds


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
