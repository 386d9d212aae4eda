"""The quadratic DenseNet of "Backward Feature Correction" (Allen-Zhu & Li, section 2) as pure functions.

With G_0 = x and G_1 = x^2 - E[x^2], layer l = 2..L has pre-activations S_l = sum_{j in J_l} W_{l,j} G_j and
G_l = S_l^2, and the network is F(x) = constant + sum_l alpha_l Sum(G_l): the paper's learner network with trainable
M_{l,j} called W_{l,j} here, of degree 2^L. Where J_2 = {0} and no layer reads G_1, layer 2 is the learned first layer
G_2 = (W_{2,0} x)^2 of Li's talk on the paper, and the degree is 2^(L-1).

Letters in shapes: m points, d input dimension, m_l width of layer l, q_l = sum_{j in J_l} dim(G_j).
Inside the network points are columns, which makes the small products a third faster on a CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from bfc_bench.toolkit.arrays import NumpyOrJax

if TYPE_CHECKING:
    from jax import Array

Backward: TypeAlias = Literal["all", "identity"]
Params: TypeAlias = dict[str, Any]
"""Parameters by name: NumPy or JAX arrays, or nests of them."""


def truncated_square(z: NumpyOrJax, bound: float) -> NumpyOrJax:
    """The truncated quadratic activation (BFC section 2.1, Figure 8), any shape.

    It is z^2 for |z| <= B', the constant 13/6 B'^2 for |z| >= 2 B', and between them the monotone polynomial that makes
    it twice continuously differentiable.
    """
    xp = z.__array_namespace__()
    size = xp.abs(z)
    inner = xp.clip(size, 0.0, bound)
    t = xp.clip(size / bound - 1.0, 0.0, 1.0)
    square: NumpyOrJax = inner**2 + bound**2 * t * (2.0 + t * (1.0 - t * (10.0 / 3.0 - 1.5 * t)))
    return square


@dataclass(frozen=True)
class QuadraticNet:
    """Architecture of a network; call it with parameters and inputs to predict. Equal networks hash equal.

    Parameters: ``W2`` .. ``WL`` (m_l, q_l), the W_{l,j} side by side in the order of J_l; ``log_alpha`` (L-1,);
    ``constant`` (); ``square_mean`` (d,), E[x^2], which has no gradient; ``linear`` (d,) if F has a linear term.
    """

    d: int
    widths: tuple[int, ...]
    """m_2..m_L."""
    skips: tuple[tuple[int, ...], ...]
    """J_2..J_L."""
    truncate: float | None = None
    """B' of the truncated square between layers, or None. The outermost square of a layer's term is always exact."""
    share_skips: bool = False
    """Whether W_{l,l-1} = W_{l,l-3} for l >= 3, as in a ResNet (BFC footnote 4): one matrix for G_{l-1} + G_{l-3}, at
    the position of the first of the two in J_l."""
    backward: Backward = "all"
    """``identity``: the gradient of a layer comes from its own term alpha_l Sum(G_l) alone, not through the layers that
    read it. The output is the same."""

    def below(self, layer: int) -> QuadraticNet:
        """The network that ends with ``layer``."""
        count = self.index(layer) + 1
        return replace(self, widths=self.widths[:count], skips=self.skips[:count])

    def own(self, params: Params) -> Params:
        """The parameters of this network, taken from those of the larger network that it is ``below`` of."""
        weights = {f"W{layer}": params[f"W{layer}"] for layer in self.layers()}
        rest = {key: value for key, value in params.items() if not key.startswith("W")}
        return {**weights, **rest, "log_alpha": params["log_alpha"][: len(self.widths)]}

    def layers(self) -> range:
        """2..L."""
        return range(2, len(self.widths) + 2)

    def index(self, layer: int) -> int:
        """Index of a layer in ``widths``, ``skips`` and ``log_alpha``."""
        return layer - 2

    def blocks(self, layer: int) -> list[tuple[int, ...]]:
        """J_l in groups of layers that share a matrix W_{l,j}."""
        sources = self.skips[self.index(layer)]
        shared = tuple(j for j in sources if self.share_skips and layer >= 3 and j in (layer - 1, layer - 3))
        return [shared if j in shared else (j,) for j in sources if j not in shared[1:]]

    def fan_ins(self, layer: int) -> list[int]:
        """dim(G_j) for the groups of J_l; their sum is q_l."""
        sources = [block[0] for block in self.blocks(layer)]
        return [self.d if j < 2 else self.widths[self.index(j)] for j in sources]

    def reads(self, layer: int, coordinate: int) -> np.ndarray:
        """Which columns of W_l are weights of x_i or x_i^2 - E[x_i^2], i = ``coordinate``, as booleans (q_l,)."""
        blocks = zip(self.blocks(layer), self.fan_ins(layer), strict=True)
        return np.concatenate([(np.arange(dim) == coordinate) & (min(block) < 2) for block, dim in blocks])

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

        if self.backward == "all" and self.truncate is None and not self.share_skips:
            from bfc_plugins.quadratic.gradient import value

            out: Array = value(self, {key: leaf for key, leaf in params.items() if key != "linear"}, x)
        else:
            alpha, held = jax.numpy.exp(params["log_alpha"]), jax.lax.stop_gradient
            upwards = held if self.backward == "identity" else None
            pre, _ = self.forward({**params, "square_mean": held(params["square_mean"])}, x.T, upwards)
            out = params["constant"] + sum(alpha[self.index(layer)] * (s * s).sum(0) for layer, s in pre.items())
        return out + x @ params["linear"] if "linear" in params else out

    def forward(
        self, params: Params, columns: NumpyOrJax, upwards: Callable[[Any], Any] | None = None
    ) -> tuple[dict[int, NumpyOrJax], dict[int, NumpyOrJax]]:
        """S_l for l = 2..L and G_j for j = 0..L, each (width, m), at points x^T (d, m).

        ``upwards`` is applied to the outputs of a layer before other layers read them.
        """
        pre: dict[int, NumpyOrJax] = {}
        outputs = {0: columns, 1: columns * columns - params["square_mean"][:, None]}
        for layer in self.layers():
            pre[layer] = params[f"W{layer}"] @ self.joined(outputs, layer)
            square = pre[layer] ** 2 if self.truncate is None else truncated_square(pre[layer], self.truncate)
            outputs[layer] = upwards(square) if upwards else square
        return pre, outputs

    def joined(self, outputs: Mapping[int, NumpyOrJax], layer: int) -> NumpyOrJax:
        """The inputs of a layer, (q_l, m): the G_j for j in J_l stacked, with those that share a matrix added up."""
        parts = [reduce(add, (outputs[j] for j in block)) for block in self.blocks(layer)]
        return parts[0] if len(parts) == 1 else parts[0].__array_namespace__().concat(parts, axis=0)

    def flops(self) -> float:
        """Floating-point operations of one forward pass at one point."""
        widths = zip(self.layers(), self.widths, strict=True)
        return 2.0 * sum(width * sum(self.fan_ins(layer)) for layer, width in widths)

    def weights(self) -> int:
        """Number of parameters: the entries of the W_l, the alpha_l and the constant."""
        return round(self.flops() / 2) + len(self.widths) + 1
