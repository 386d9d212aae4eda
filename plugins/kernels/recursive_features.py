"""Recursive feature machines: the metric of a kernel becomes the average outer product of the fit's gradients.

Source: Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383 (2024), Algorithm 1: fit f by kernel ridge regression with
k(M^(1/2) z, M^(1/2) z'), set M = (1/n) sum_i grad f(z_i) grad f(z_i)^T, repeat.

Shapes: n points z with p coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from bfc_plugins.kernels.gradient_kernels import GradientKernel
from torch import Tensor


@dataclass(frozen=True)
class RecursiveRound:
    """One round: the metric of its kernel and the fit."""

    root: Tensor
    """M^(1/2) of the round, (p, p), such that the mean of |M^(1/2) z|^2 over the fitted points is 1."""
    weights: Tensor
    """(n,)."""
    outer: Tensor
    """(1/n) sum_i grad f(z_i) grad f(z_i)^T, (p, p), which is proportional to M of the next round."""


def recursive_rounds(
    z: Tensor, kernel: GradientKernel, fit: Callable[[Tensor], Tensor | None], square_norm: float
) -> Iterator[RecursiveRound]:
    """Rounds without end; they stop where ``fit`` returns None.

    Args:
        z: fitted points, (n, p).
        kernel: the kernel of points with norm about 1.
        fit: weights (n,) of the fit to the labels with a kernel on ``z @ root``, given ``root``, or None.
        square_norm: about E|z|^2, for the first round, where M is a multiple of the identity.
    """
    root = torch.eye(z.shape[1], dtype=z.dtype, device=z.device) / square_norm**0.5
    while (weights := fit(root)) is not None:
        u = z @ root
        slopes = kernel.gradients(u, u, weights) @ root.T
        outer = slopes.T @ slopes / len(z)
        yield RecursiveRound(root, weights, outer)
        root = scaled_root(outer, z)


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
