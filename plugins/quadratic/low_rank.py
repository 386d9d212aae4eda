"""Training of low rank: each W_l as a product of two factors, or under a penalty that lowers the rank.

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
"""Singular values below this share of the largest are rounding."""


@dataclass(frozen=True)
class Factored:
    """A model some of whose matrices are given as pairs of factors. Equal ones hash equal."""

    model: Callable[[Params, Any], Array]

    def __call__(self, params: Params, inputs: Any) -> Array:
        """What the model predicts."""
        whole = {key: value[0] @ value[1] if isinstance(value, tuple) else value for key, value in params.items()}
        return self.model(whole, inputs)


def factored(params: Params, rates: Params) -> tuple[Params, Params]:
    """Parameters and factors of their learning rates with each W (m, q) as U S^1/2 (m, r) times S^1/2 V^T (r, q).

    Of W = U S V^T the k directions are trained that are not zero; the others are and stay zero, so that networks of all
    ranks have equal shapes.
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
    """Trained parameters, each pair of factors one matrix again: in float64, since float32 would round to full rank."""
    return {
        key: np.matmul(*value, dtype=np.float64) if isinstance(value, tuple) else value for key, value in params.items()
    }


def less_constant(params: Params, strength: Any) -> Any:
    """What ``strength`` times the mean of F - constant adds to a square loss, of labels that are ``shifted``."""
    return -strength * params["constant"]


def shifted(y: np.ndarray, strength: float) -> np.ndarray:
    """y - strength / 2, (n,): (F - y)^2 + strength (F - c) is (F - y + strength / 2)^2 - strength c, up to a number.

    The mean of F - c = sum_l alpha_l |W_l M_l^{1/2}|^2, M_l the second moment of the layer's inputs, is the nuclear
    norm of alpha_l W_l^T W_l in the norm of the data.
    """
    return y - strength / 2
