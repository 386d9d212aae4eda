"""A round of backward feature correction with free coefficients.

With p = z P and z' the part of z outside P, the kernel (1 + p.p')^D + e (1 + p.p')^(D-1) (z'.z') has the functions
h(p) + sum_j h_j(p) z'_j with free h_j: what a function of p becomes to first order if P turns, and more. The leading
eigenvectors of the average outer product of the fit's gradients are the new P.

Shapes: n points z with p coordinates, k features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from bfc_plugins.kernels.feature_layers import FeatureLayers, outside
from bfc_plugins.kernels.gradient_kernels import Poly
from bfc_plugins.kernels.leave_one_out import ridge_fit
from bfc_plugins.kernels.recursive_features import leading_axes
from torch import Tensor


def correct_free(
    features: FeatureLayers, z: Tensor, y: Tensor, kernel: Poly, shares: Sequence[float], ridges: Sequence[float]
) -> FeatureLayers:
    """The single layer of ``features``, turned.

    Args:
        features: one layer.
        z: points, (n, p).
        y: labels, (n,).
        kernel: the kernel of p.
        shares: values of e to choose from by the leave-one-out error, where (z'.z') is 1 on average on the diagonal.
        ridges: values of the ridge, chosen with e.
    """
    (layer,) = features.layers
    p, rest = z @ layer.axes, outside(z, layer.axes)
    size = float(torch.linalg.vecdot(rest, rest).mean()) or 1.0
    gram, turning = kernel.matrix(p, p), lower_degree(kernel).matrix(p, p) * (rest @ rest.T) / size
    fits = {share: ridge_fit(gram + share * turning, y, ridges) for share in shares}
    share = min(fits, key=lambda each: fits[each].error)
    slopes = free_gradients(layer.axes, z, fits[share].weights, kernel, share / size)
    return FeatureLayers((replace(layer, axes=leading_axes(slopes.T @ slopes, layer.axes.shape[1])),))


def free_gradients(axes: Tensor, z: Tensor, weights: Tensor, kernel: Poly, rate: float) -> Tensor:
    """Gradients (n, p) with respect to z, at the points z, of the fit with ``kernel(p, p) + rate lower(p, p) (z'.z')``.

    Args:
        axes: P, (p, k).
        z: points, (n, p).
        weights: weights of the fit, (n,).
        kernel: the kernel of p.
        rate: factor of the part that turns P.
    """
    p, rest = z @ axes, outside(z, axes)
    lower = lower_degree(kernel)
    inside = kernel.gradients(p, p, weights) + rate * lower.gradients(p, p, weights * (rest @ rest.T))
    slopes: Tensor = inside @ axes.T + rate * (lower.matrix(p, p) * weights) @ rest
    return slopes


def lower_degree(kernel: Poly) -> Poly:
    """The same kernel with its degree less 1."""
    return replace(kernel, degree=kernel.degree - 1)
