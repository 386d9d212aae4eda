"""F(x) of a quadratic DenseNet with a gradient of its own, which costs less than the one that JAX derives.

With g = dL/dF (m,), backpropagation is dL/dS_l = 2 S_l (alpha_l g + dL/dG_l), dL/dW_{l,j} = dL/dS_l G_j^T and
dL/dG_j = sum_l W_{l,j}^T dL/dS_l. JAX also multiplies by the columns of W_l that read inputs, whose gradient has no
use. Inputs and their mean square are constants here: their gradient is 0.
"""

from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

QuadraticNet: TypeAlias = Any
"""``bfc_plugins.quadratic.net.QuadraticNet``, which imports this module."""
Params: TypeAlias = dict[str, Any]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def value(net: QuadraticNet, params: Params, x: Array) -> Array:
    """F(x), (m,), at x (m, d), without a linear term, for a network with exact squares and no shared matrices."""
    return _forward(net, params, x)[0]


def _forward(net: QuadraticNet, params: Params, x: Array) -> tuple[Array, Any]:
    pre, _ = net.forward(params, x.T)
    alpha = jnp.exp(params["log_alpha"])
    sums = [(s * s).sum(0) for s in pre.values()]
    out = params["constant"] + sum(a * total for a, total in zip(alpha, sums, strict=True))
    return out, (params, x, pre, sums)


def _backward(net: QuadraticNet, kept: Any, by_value: Array) -> tuple[Params, Array]:
    params, x, pre, sums = kept
    columns = x.T
    outputs = {0: columns, 1: columns * columns - params["square_mean"][:, None]}
    outputs |= {layer: s * s for layer, s in pre.items()}
    alpha = jnp.exp(params["log_alpha"])
    by_output: dict[int, Array] = {}
    gradient = {
        "constant": by_value.sum(),
        "log_alpha": alpha * jnp.stack([total @ by_value for total in sums]),
        "square_mean": jnp.zeros_like(params["square_mean"]),
    }
    for layer in reversed(net.layers()):
        weights = params[f"W{layer}"]
        by_sum = alpha[net.index(layer)] * by_value
        by_pre = 2.0 * pre[layer] * (by_output.get(layer, 0.0) + by_sum)
        gradient[f"W{layer}"] = by_pre @ net.joined(outputs, layer).T
        first = 0
        for (below,), dim in zip(net.blocks(layer), net.fan_ins(layer), strict=True):
            if below >= 2:
                # XLA multiplies faster by a matrix that lies row by row, so the transposed one is written out.
                transposed = jax.lax.optimization_barrier(weights[:, first : first + dim].T)
                back = transposed @ by_pre
                by_output[below] = by_output[below] + back if below in by_output else back
            first += dim
    return gradient, jnp.zeros_like(x)


value.defvjp(_forward, _backward)
