"""The quadratic DenseNet of "Backward Feature Correction" (Allen-Zhu & Li, section 2) as pure functions.

With G_0 = x and G_1 = x^2 - E[x^2], layer l = 2..L has pre-activations S_l = sum_{j in J_l} W_{l,j} G_j and
G_l = S_l^2, and the network is F(x) = constant + sum_l alpha_l Sum(G_l): the paper's learner network with trainable
M_{l,j} called W_{l,j} here, of degree 2^L.

Letters in shapes: m points, d input dimension, m_l width of layer l, q_l = sum_{j in J_l} dim(G_j).
Inside the network points are columns: the products are small, and about a third faster that way round on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
Params: TypeAlias = dict[str, Any]


def default_skips(depth: int) -> tuple[tuple[int, ...], ...]:
    """J_2 = {1}, J_3 = {0, 2}, J_l = {0, l-1}, up to l = ``depth`` (L)."""
    return ((1,), *((0, layer - 1) for layer in range(3, depth + 1)))


def check_skips(skips: Sequence[Sequence[int]], widths: Sequence[int]) -> None:
    """Raise ``ValueError`` unless J_l, for l = 2..L, are distinct layers among 0..l-1."""
    if len(skips) != len(widths):
        raise ValueError(
            f"skips must have one set J_l per layer, {len(widths)} for widths {tuple(widths)}. Got {len(skips)}."
        )
    for layer, sources in enumerate(skips, start=2):
        if not sources or len(set(sources)) != len(sources) or not all(0 <= j < layer for j in sources):
            raise ValueError(f"J_{layer} in skips must be distinct layers among 0..{layer - 1}. Got {tuple(sources)}.")


def truncated_square(z: Array, bound: float) -> Array:
    """The truncated quadratic activation (BFC section 2.1, Figure 8), any shape.

    z^2 for |z| <= B', the constant 13/6 B'^2 for |z| >= 2 B', and between them the monotone polynomial that makes it
    twice continuously differentiable.
    """
    xp = z.__array_namespace__()
    size = xp.abs(z)
    inner = xp.clip(size, 0.0, bound)
    t = xp.clip(size / bound - 1.0, 0.0, 1.0)
    return inner**2 + bound**2 * t * (2.0 + t * (1.0 - t * (10.0 / 3.0 - 1.5 * t)))


@dataclass(frozen=True)
class QuadraticNet:
    """Shapes of a network; calling it with parameters and inputs predicts. Equal networks hash equal.

    Parameters: ``W2`` .. ``WL`` (m_l, q_l), the W_{l,j} side by side in the order of J_l; ``log_alpha`` (L-1,);
    ``constant`` (); ``square_mean`` (d,), E[x^2], which has no gradient.
    """

    d: int
    widths: tuple[int, ...]
    """m_2..m_L."""
    skips: tuple[tuple[int, ...], ...]
    """J_2..J_L."""
    truncate: float | None = None
    """B' of the truncated square between layers, or None. The outermost square of a layer's term is always exact."""

    def below(self, layer: int) -> QuadraticNet:
        """The network that ends with ``layer``."""
        return replace(self, widths=self.widths[: layer - 1], skips=self.skips[: layer - 1])

    def layers(self) -> range:
        """2..L."""
        return range(2, len(self.widths) + 2)

    def fan_ins(self, layer: int) -> list[int]:
        """dim(G_j) for j in J_l."""
        return [self.d if j < 2 else self.widths[j - 2] for j in self.skips[layer - 2]]

    def init(self, rng: np.random.Generator, scales: Sequence[float], square_mean: np.ndarray) -> Params:
        """Random parameters: W_{l,j} ~ N(0, 1) * scale_l / sqrt(m_l dim(G_j)), all alpha_l = 1, constant 0."""
        params: Params = {"log_alpha": np.zeros(len(self.widths)), "constant": np.zeros(()), "square_mean": square_mean}
        for layer, width, scale in zip(self.layers(), self.widths, scales, strict=True):
            blocks = [rng.standard_normal((width, dim)) / math.sqrt(dim) for dim in self.fan_ins(layer)]
            params[f"W{layer}"] = np.concatenate(blocks, axis=1) * scale / math.sqrt(width)
        return params

    def __call__(self, params: Params, x: Array) -> Array:
        """F(x), (m,), for JAX inputs x (m, d)."""
        import jax

        alpha = jax.numpy.exp(params["log_alpha"])
        pre, _ = self.forward({**params, "square_mean": jax.lax.stop_gradient(params["square_mean"])}, x.T)
        return params["constant"] + sum(alpha[layer - 2] * (s * s).sum(0) for layer, s in pre.items())

    def forward(self, params: Params, columns: Array) -> tuple[dict[int, Array], dict[int, Array]]:
        """S_l for l = 2..L and G_j for j = 0..L, each (width, m), at points x^T (d, m); all NumPy or all JAX arrays."""
        pre: dict[int, Array] = {}
        outputs = {0: columns, 1: columns * columns - params["square_mean"][:, None]}
        for layer in self.layers():
            pre[layer] = params[f"W{layer}"] @ self.joined(outputs, layer)
            outputs[layer] = pre[layer] ** 2 if self.truncate is None else truncated_square(pre[layer], self.truncate)
        return pre, outputs

    def joined(self, outputs: Mapping[int, Array], layer: int) -> Array:
        """The inputs of a layer, (q_l, m): G_j for j in J_l, one below the other."""
        parts = [outputs[j] for j in self.skips[layer - 2]]
        return parts[0] if len(parts) == 1 else parts[0].__array_namespace__().concat(parts, axis=0)

    def flops(self) -> float:
        """Floating-point operations of one forward pass at one point."""
        return float(
            sum(2 * width * sum(self.fan_ins(layer)) for layer, width in zip(self.layers(), self.widths, strict=True))
        )
