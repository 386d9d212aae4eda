"""Binary labels: the loss is the cross entropy of the paper, and the known part of the margin stays known."""

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


def drawn(column):
    rng = stream("margin-test")
    params, _ = with_linear_term(NET, NET.init(rng, (1.0, 1.0), np.ones(4)), RATES, column, input_scale=0.5)
    return params, rng.standard_normal((60, 4)), rng.choice([-1.0, 1.0], 60)


def loss(params, x, y):
    """Mean of -log 1/(1 + e^{-y v z}) at the margins z that a predictor gives, in float64 (BFC line 430)."""
    return float(-np.mean(np.log(1 / (1 + np.exp(-y * V * QuadraticPredictor(NET, params, x).predict(x))))))


@pytest.mark.parametrize("column", [None, 2])
def test_the_loss_is_the_cross_entropy_of_the_paper(column):
    """Its gradients are those of networks, in test_quadratic_net, and of one function of jax."""
    params, x, y = drawn(column)
    margins = NET(jax.tree.map(np.float32, params), jax.numpy.asarray(x, np.float32))
    assert float(cross_entropy_loss(margins, V * y).mean()) == pytest.approx(loss(params, x, y), rel=1e-5)
