"""Adds a linear term to a quadratic DenseNet, which makes its output a margin for binary labels.

Y(x_0, x) = sgn(x_0 + G*(x)) (BFC section 3.2, lines 395-445) is fitted by sgn(x_0 + F(x)).
"""

from __future__ import annotations

import numpy as np
from bfc_plugins.quadratic.net import Params, QuadraticNet


def with_linear_term(
    net: QuadraticNet, params: Params, rates: Params, column: int | None, input_scale: float
) -> tuple[Params, Params]:
    """Parameters and factors of their learning rates with a linear term ``linear`` (d,).

    With a column c the margin is x_c + F(the other columns): the linear term stays x_c, and weights that read x_c stay
    zero. Without it, F reads all columns, and the linear term is trained from zero.
    """
    if column is None:
        return {**params, "linear": np.zeros(net.d)}, {**rates, "linear": 1.0}
    params, rates = {**params, "linear": np.eye(net.d)[column] / input_scale}, {**rates, "linear": 0.0}
    for layer in net.layers():
        used = ~net.reads(layer, column)
        params[f"W{layer}"], rates[f"W{layer}"] = params[f"W{layer}"] * used, rates[f"W{layer}"] * used
    return params, rates
