"""Binary labels: the loss is the cross entropy of the paper, and the known part of the margin stays known."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from bfc_plugins.quadratic.margin import with_linear_term
from bfc_plugins.quadratic.net import QuadraticNet
from bfc_plugins.quadratic.predictor import QuadraticPredictor

from bfc_bench.seeds import stream
from bfc_bench.toolkit.ensemble import cross_entropy_loss

NET = QuadraticNet(4, (5, 3), ((1,), (0, 2)))
RATES = {"W2": 1.0, "W3": 0.5, "constant": 1.0, "log_alpha": 1.0, "square_mean": 0.0}
V = 3.0


def drawn(column: int | None):
    rng = stream("margin-test")
    params, _ = with_linear_term(NET, NET.init(rng, (1.0, 1.0), np.ones(4)), RATES, column, input_scale=0.5)
    return params, rng.standard_normal((60, 4)), rng.choice([-1.0, 1.0], 60)


def loss(params, x, y) -> float:
    """Mean of -log 1/(1 + e^{-y v z}) at the margins z that a predictor gives, in float64 (BFC line 430)."""
    return float(-np.mean(np.log(1 / (1 + np.exp(-y * V * QuadraticPredictor(NET, params, x).predict(x))))))


@pytest.mark.parametrize("column", [None, 2])
def test_gradient_of_the_cross_entropy_is_that_of_finite_differences(column):
    params, x, y = drawn(column)
    single = jax.tree.map(np.float32, params)

    def mean_loss(p):
        return cross_entropy_loss(NET(p, jax.numpy.asarray(x, np.float32)), V * y).mean()

    value, gradient = jax.value_and_grad(mean_loss)(single)
    assert float(value) == pytest.approx(loss(params, x, y), rel=1e-5)
    for key in ("W2", "W3", "linear", "log_alpha", "constant"):
        expected = np.zeros_like(params[key])
        for index in np.ndindex(expected.shape):
            step = np.zeros_like(expected)
            step[index] = 1e-5
            up, down = ({**params, key: params[key] + sign * step} for sign in (1, -1))
            expected[index] = (loss(up, x, y) - loss(down, x, y)) / 2e-5
        np.testing.assert_allclose(gradient[key], expected, rtol=2e-3, atol=2e-4 * np.abs(expected).max())
