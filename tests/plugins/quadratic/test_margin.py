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
    params, rates = with_linear_term(NET, NET.init(rng, (1.0, 1.0), np.ones(4)), RATES, column, input_scale=0.5)
    return params, rates, rng.standard_normal((60, 4)), rng.choice([-1.0, 1.0], 60)


def loss(params, x, y) -> float:
    """Mean of -log 1/(1 + e^{-y v z}) at the margins z that a predictor gives, in float64 (BFC line 430)."""
    return float(-np.mean(np.log(1 / (1 + np.exp(-y * V * QuadraticPredictor(NET, params, x).predict(x))))))


@pytest.mark.parametrize("column", [None, 2])
def test_gradient_of_the_cross_entropy_is_that_of_finite_differences(column):
    params, _, x, y = drawn(column)
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


def test_known_part_of_the_margin_is_frozen_and_read_by_no_layer():
    params, rates, x, _ = drawn(2)
    predictor = QuadraticPredictor(NET, params, x, input_scale=0.5)
    moved = x + np.eye(4)[2] * 7.0
    np.testing.assert_allclose(predictor.predict(moved) - predictor.predict(x), 7.0, rtol=1e-12)
    assert rates["linear"] == 0.0
    for key, column in (("W2", 2), ("W3", 2)):
        assert not np.broadcast_to(rates[key], params[key].shape)[:, column].any()
        assert (np.delete(rates[key], column) == RATES[key]).all(), "all other weights are trained"
        assert np.delete(params[key], column, axis=1).all()


def test_without_a_known_part_the_linear_term_is_trained_and_everything_is_read():
    params, rates, _, _ = drawn(None)
    assert rates == {**RATES, "linear": 1.0}
    assert not params["linear"].any()
    assert params["W2"].all()
