"""The re-parameterised learner network of "Backward Feature Correction" (Allen-Zhu & Li, section 2.1).

Every layer l = 2..L has an over-parameterised W_l, which computes its term of the output, and a small K_l distilled
from it, which computes the features that layers above read. With S_0 = x, S_1 = x^2 - E[x^2] and fixed random R_l,

    feed_l = (sigma(R_j S_j) for j in J_l, j >= 2; S_j for j in J_l, j < 2), side by side in the order of J_l
    S_l = K_l feed_l  (2.1),    F_l = (W_l feed_l)^2  (2.2),    F = constant + sum_l Sum(F_l)

The output scale alpha_l of the paper is part of W_l and K_l here, as sqrt(alpha_l). So a layer learns at a speed that
does not depend on alpha_l, and the regularisers lambda_{3..5,l}, which the paper makes proportional to alpha_l^2, have
one size for all layers.

Letters in shapes: m points, d input dimension, w rows of W_l, r rows of K_l (the rank of layer l, padded), p rows of
R_l, q_l = sum_{j in J_l} dim(S_j or R_j S_j). Points are columns, as in ``quadratic/net.py``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from bfc_plugins.quadratic.net import Params, truncated_square

from bfc_bench.toolkit.arrays import NumpyOrJax


@dataclass(frozen=True)
class DistilledNet:
    """Architecture of a network. Equal networks hash equal.

    Trained parameters: ``W2``..``WL`` (w, q_l), ``K2``..``KL`` (r, q_l), ``constant`` (), and ``linear`` (d,) if F has
    a linear term. Fixed ones: ``R2``..``RL-1`` (p, r), ``square_mean`` (d,), E[x^2]. Rows of K_l beyond the rank of its
    layer, and the columns and rows of R_l that belong to them, are zero and stay zero.
    """

    d: int
    width: int
    """w."""
    rank: int
    """r."""
    expansion: int
    """p."""
    skips: tuple[tuple[int, ...], ...]
    """J_2..J_L."""
    truncate: float | None = None
    """B' of the truncated square of R_l S_l, or None. The square of (2.2) is always exact."""
    linear: bool = False
    """Whether F has a linear term, for margins of binary labels."""
    unread: int | None = None
    """The column of x that no layer reads, or None."""

    def layers(self) -> range:
        """2..L."""
        return range(2, len(self.skips) + 2)

    def fan_ins(self, layer: int) -> list[int]:
        """Dimensions of the inputs of a layer, for j in J_l; their sum is q_l."""
        return [self.d if j < 2 else self.expansion for j in self.skips[layer - 2]]

    def last(self, layer: int) -> np.ndarray:
        """Which inputs of a layer come from layer l-1, booleans (q_l,); the others have the index ◁ in the paper."""
        return np.asarray(np.repeat(self.skips[layer - 2], self.fan_ins(layer)) == layer - 1)

    def live(self, params: Params, layer: int) -> np.ndarray:
        """Which inputs of a layer are neither padding nor the column ``unread``, booleans (q_l,)."""
        read = np.arange(self.d) != self.unread
        parts = [read if j < 2 else params[f"R{j}"].any(axis=1) for j in self.skips[layer - 2]]
        return np.concatenate(parts)

    def zeros(self) -> Params:
        """The trained parameters, all zero, as Algorithm 1 starts."""
        params: Params = {"constant": np.zeros(())}
        if self.linear:
            params["linear"] = np.zeros(self.d)
        for layer in self.layers():
            q = sum(self.fan_ins(layer))
            params |= {f"W{layer}": np.zeros((self.width, q)), f"K{layer}": np.zeros((self.rank, q))}
        return params

    def expansions(self) -> Params:
        """The R_l, all zero, as they are before k_l is known."""
        return {f"R{layer}": np.zeros((self.expansion, self.rank)) for layer in self.layers()[:-1]}

    def forward(self, params: Params, columns: NumpyOrJax) -> tuple[dict[int, NumpyOrJax], dict[int, NumpyOrJax]]:
        """S_l (r, m) and feed_l (q_l, m), for l = 2..L, at points x^T (d, m); all NumPy or all JAX arrays."""
        sources = {0: columns, 1: columns * columns - params["square_mean"][:, None]}
        features: dict[int, NumpyOrJax] = {}
        feeds: dict[int, NumpyOrJax] = {}
        for layer in self.layers():
            parts = [sources[j] for j in self.skips[layer - 2]]
            feeds[layer] = parts[0] if len(parts) == 1 else columns.__array_namespace__().concat(parts, axis=0)
            features[layer] = params[f"K{layer}"] @ feeds[layer]
            if layer < self.layers()[-1]:
                z = params[f"R{layer}"] @ features[layer]
                sources[layer] = z * z if self.truncate is None else truncated_square(z, self.truncate)
        return features, feeds

    def __call__(self, params: Params, columns: NumpyOrJax) -> NumpyOrJax:
        """F(x), (m,), at points x^T (d, m)."""
        _, feeds = self.forward(params, columns)
        terms = (((params[f"W{layer}"] @ feed) ** 2).sum(0) for layer, feed in feeds.items())
        values: NumpyOrJax = params["constant"] + sum(terms)
        return values + params["linear"] @ columns if self.linear else values

    def regulariser(self, params: Params, lambdas: NumpyOrJax) -> NumpyOrJax:
        """Reg(W, K) of section 2.2, (); ``lambdas`` (L-1, 4) are lambda_3..lambda_6 of every layer. Summed over l,

        lambda_3 |K_{l,l-1}^T K_{l◁} - W_{l,l-1}^T W_{l◁}|^2 + lambda_5 |K_l^T K_l - W_l^T W_l|^2
        + lambda_4 |K_{l,l-1}^T K_{l,l-1} - W_{l,l-1}^T W_{l,l-1}|^2 + lambda_6 (|K_l|^2 + |W_l|^2).

        With V = (W; K) and J = diag(-1 for W, 1 for K) each difference is a block V_a^T J V_b, and its squared norm is
        tr(J V_a V_a^T J V_b V_b^T), a product of (w+r) x (w+r) Gram matrices instead of q_l x q_l ones.
        """
        total: Any = 0.0
        sign = np.repeat(np.array([-1, 1], np.float32), [self.width, self.rank])[:, None]
        for layer in self.layers():
            w, k = params[f"W{layer}"], params[f"K{layer}"]
            v = w.__array_namespace__().concat([w, k], axis=0)
            last = self.last(layer).astype(np.float32)
            above, skip = sign * ((v * last) @ v.T), sign * ((v * (1 - last)) @ v.T)
            whole = above + skip
            mixed, square, full, decay = lambdas[layer - 2]
            total += mixed * (above * skip.T).sum() + square * (above * above.T).sum()
            total += full * (whole * whole.T).sum() + decay * (v * v).sum()
        regulariser: NumpyOrJax = total
        return regulariser

    def flops(self) -> float:
        """Floating-point operations of one forward pass at one point."""
        inputs = sum(sum(self.fan_ins(layer)) for layer in self.layers())
        return 2.0 * inputs * (self.width + self.rank) + 2.0 * len(self.expansions()) * self.expansion * self.rank
