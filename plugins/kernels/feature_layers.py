"""Layers of learned features: each is linear in the products of the features below and in the inputs.

Layer 1 has the features p_1 = z P_1. Layer l > 1 has p_l = phi_l P_l with phi_l = (z, p_{l-1}, products of the entries
of p_{l-1}), where the products are standardised, and p_1 is left out of phi_2 because z contains it.

Shapes: m points z with p coordinates; q_l coordinates of phi_l; k_l features of layer l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layer:
    """One layer."""

    axes: Tensor
    """P_l, (q_l, k_l), with orthonormal columns."""
    mean: Tensor
    """Means of the products of features below, (k (k + 1) / 2,); (0,) for layer 1."""
    factor: Tensor
    """What the products less their means are multiplied by, of the same shape."""


@dataclass(frozen=True)
class FeatureLayers:
    """The layers P_1, ..., P_L."""

    layers: tuple[Layer, ...] = ()

    def inputs(self, z: Tensor) -> list[Tensor]:
        """phi_1, ..., phi_L, each (m, q_l), at z (m, p)."""
        phis: list[Tensor] = []
        for index, layer in enumerate(self.layers):
            phis.append(z if not index else _joined(z, phis[-1] @ self.layers[index - 1].axes, layer, index > 1))
        return phis

    def features(self, z: Tensor) -> list[Tensor]:
        """p_1, ..., p_L, each (m, k_l), at z (m, p)."""
        return [phi @ layer.axes for phi, layer in zip(self.inputs(z), self.layers, strict=True)]

    def slopes(self, features: Sequence[Tensor], slopes: Tensor) -> list[Tensor]:
        """Gradients of a function with respect to p_1, ..., p_L, each (m, k_l), by the chain rule."""
        all_slopes = [slopes]
        for index in range(len(self.layers) - 1, 0, -1):
            layer, below = self.layers[index], features[index - 1]
            back, k = all_slopes[0] @ layer.axes.T, below.shape[1]
            products = back[:, -len(layer.mean) :] * layer.factor
            square = back.new_zeros(len(back), k, k)
            square[:, *torch.triu_indices(k, k)] = products
            slope = ((square + square.mT) @ below[:, :, None])[:, :, 0]
            all_slopes.insert(0, slope + back[:, -len(layer.mean) - k : -len(layer.mean)] if index > 1 else slope)
        return all_slopes

    def next_inputs(self, z: Tensor) -> tuple[Layer, Tensor]:
        """A further layer without axes, whose products are standardised at z (m, p), and its phi there, (m, q)."""
        if not self.layers:
            return Layer(z.new_zeros(z.shape[1], 0), z.new_zeros(0), z.new_zeros(0)), z
        below = self.features(z)[-1]
        products = _products(below)
        spread = products.std(0, correction=0)
        factor = torch.where(spread > 0, 1 / spread, 0.0)
        layer = Layer(z.new_zeros(0, 0), products.mean(0), factor)
        return layer, _joined(z, below, layer, len(self.layers) > 1)

    def with_layer(self, layer: Layer, axes: Tensor) -> FeatureLayers:
        """These layers and ``layer`` on top, with the given axes (q, k)."""
        return FeatureLayers((*self.layers, replace(layer, axes=axes)))

    def turned(self, steps: Sequence[Tensor]) -> FeatureLayers:
        """P_l + step_l for each layer, (q_l, k_l), made orthonormal: the nearest matrix with orthonormal columns."""
        turned = []
        for layer, step in zip(self.layers, steps, strict=True):
            left, _, right = torch.linalg.svd(layer.axes + step, full_matrices=False)
            turned.append(replace(layer, axes=left @ right))
        return FeatureLayers(tuple(turned))


def outside(phi: Tensor, axes: Tensor) -> Tensor:
    """The part of phi (m, q) that is orthogonal to the columns of ``axes`` (q, k), (m, q)."""
    return phi - (phi @ axes) @ axes.T


def _joined(z: Tensor, below: Tensor, layer: Layer, carried: bool) -> Tensor:
    """phi of a layer: z, the features below if ``carried``, and their products."""
    products = (_products(below) - layer.mean) * layer.factor
    return torch.cat([z, below, products] if carried else [z, products], dim=1)


def _products(p: Tensor) -> Tensor:
    """p_i p_j for i <= j, (m, k (k + 1) / 2), of p (m, k)."""
    first, second = torch.triu_indices(p.shape[1], p.shape[1])
    return p[:, first] * p[:, second]
