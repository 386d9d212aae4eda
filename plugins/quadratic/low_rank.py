"""Low-rank training: each W_l as a product of two factors, or with a penalty that lowers its rank.

Letters in shapes: m width, q inputs of a layer, r = min(m, q), k its rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from bfc_plugins.quadratic.net import Params

if TYPE_CHECKING:
    from jax import Array


RANK_TOLERANCE = 1e-9
"""Singular values below this fraction of the largest are rounding errors."""


@dataclass(frozen=True)
class Factored:
    """A model whose matrices may be given as pairs of factors. Equal models hash equal."""

    model: Callable[[Params, Any], Array]

    def __call__(self, params: Params, inputs: Any) -> Array:
        """The model's prediction."""
        whole = {key: value[0] @ value[1] if isinstance(value, tuple) else value for key, value in params.items()}
        return self.model(whole, inputs)


def factored(params: Params, rates: Params) -> tuple[Params, Params]:
    """Parameters and factors of their learning rates with each W (m, q) as U S^1/2 (m, r) times S^1/2 V^T (r, q).

    Only the k directions of W = U S V^T that are not zero are trained; networks of all ranks have equal shapes.
    """
    params, rates = dict(params), dict(rates)
    for key in [key for key in params if key.startswith("W")]:
        u, s, v = np.linalg.svd(params[key], full_matrices=False)
        used = s > RANK_TOLERANCE * max(s[0], np.finfo(np.float64).tiny)
        root = np.sqrt(s) * used
        params[key] = (u * root, root[:, None] * v)
        rates[key] = (rates[key] * np.broadcast_to(used, u.shape), rates[key] * used[:, None] * np.ones(v.shape))
    return params, rates


def multiplied(params: Params) -> Params:
    """Multiply each pair of factors to one matrix, in float64, because rounding to float32 would give full rank."""
    return {
        key: np.matmul(*value, dtype=np.float64) if isinstance(value, tuple) else value for key, value in params.items()
    }


def less_constant(params: Params, strength: Any) -> Any:
    """The term that a penalty of ``strength`` times the mean of F - constant c adds to the loss of y - strength / 2.

    Up to a constant, (F - y)^2 + strength (F - c) is (F - y + strength / 2)^2 - strength c. The mean of F - c is
    sum_l alpha_l |W_l M_l^{1/2}|^2, M_l the second moment of the layer's inputs: the nuclear norms of the
    alpha_l W_l^T W_l in the norm of the data.
    """
    return -strength * params["constant"]
