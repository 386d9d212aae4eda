"""Adam and noisy SGD on the regularised risk of quadratic Taylor models, for a compiled ensemble.

Shapes: B minibatch, D features, m units.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import Array

from bfc_bench.toolkit.ensemble import cross_entropy_loss, square_loss


def quadratic_taylor(weights: Array, inputs: Mapping[str, Array]) -> Array:
    """sum_r c_r (w_r.h)^2, (B,), for W (m, D) at inputs ``h`` (B, D) and ``c`` (B, m), the model's coefficients."""
    return jnp.sum(inputs["c"] * (inputs["h"] @ weights.T) ** 2, axis=1)


def quartic_norm(weights: Array, strength: Array) -> Array:
    """lambda ||W||_{2,4}^4 for W (m, D) and lambda = ``strength``."""
    return strength * jnp.sum(jnp.sum(weights**2, axis=1) ** 2)


def soft_hinge_loss(prediction: Array, y: Array) -> Array:
    """log(1 + exp(1 - y F)), (B,)."""
    return jax.nn.softplus(1.0 - y * prediction)


LOSSES = {"square": square_loss, "logistic": cross_entropy_loss, "soft-hinge": soft_hinge_loss}
