"""The Taylor models agree with the network to their order, follow their own gradients, and approach it with width."""

from dataclasses import replace

import numpy as np
import pytest
from bfc_plugins.quadratic_taylor.taylor_of_network import TaylorModel, TaylorOfNetwork

from bfc_bench.errors import Diverged
from bfc_bench.learner import Context, Data

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 3)), RNG.standard_normal(40)
W0, A0 = RNG.standard_normal((3, 6)), RNG.standard_normal(6)
DIRECTION = RNG.standard_normal((3, 6)), RNG.standard_normal(6)


def moved(kind, step, activation="tanh"):
    return TaylorModel(kind, activation, W0, A0, W0 + step * DIRECTION[0], A0 + step * DIRECTION[1])


@pytest.mark.parametrize(("kind", "order"), [("linear", 2), ("quadratic", 3)])
def test_the_difference_from_the_network_is_of_the_next_order(kind, order):
    far, near = (np.abs(moved(kind, step)(X) - moved("network", step)(X)).max() for step in (1e-2, 1e-3))
    assert far / near == pytest.approx(10**order, rel=0.2)


@pytest.mark.parametrize("activation", ["relu2", "tanh"])
@pytest.mark.parametrize("kind", ["network", "linear", "quadratic"])
def test_a_step_goes_along_the_gradient_of_half_the_mean_square_error(kind, activation):
    here = moved(kind, 0.3, activation)

    def loss(step):
        there = replace(here, W=here.W + step * DIRECTION[0], a=here.a + step * DIRECTION[1])
        return 0.5 * float(np.mean((there(X) - Y) ** 2))

    after = here.after_step(X, Y, 1.0)
    along = np.sum((here.W - after.W) * DIRECTION[0]) + (here.a - after.a) @ DIRECTION[1]
    assert (loss(1e-6) - loss(-1e-6)) / 2e-6 == pytest.approx(along, rel=1e-5)


@pytest.mark.parametrize("model", ["linear", "quadratic"])
def test_the_distance_of_wide_networks_vanishes(model):
    """Remainders are sums of k terms a_r moved_r^2 / k^1/2 or moved_r^3 / k^1/2, and moved_r is about a_r k^-1/2.

    The signs a_r^3 of the former cancel to a sum of order 1 / k, the a_r^4 of the latter add up to one of order 1 / k:
    mean squares of order k^-2.
    """
    train = Data(sample="s", n=40, d=3, x=X, y=X[:, 0] * X[:, 1])

    def distance(width):
        learner = TaylorOfNetwork(model=model, width=width, steps=30, activation="tanh")
        fits = [learner.fit(train, Context(seed=seed, square_mean=np.ones(3))) for seed in range(8)]
        return float(np.exp(np.mean([np.log(fit.info["distance"]) for fit in fits])))

    assert distance(256) / distance(2048) > 8  # 64 in the limit


def test_the_network_has_no_distance_from_itself():
    train = Data(sample="s", n=40, d=3, x=X, y=Y)
    assert TaylorOfNetwork(model="network", steps=3).fit(train, Context(seed=0)).info["distance"] == 0


def test_a_step_that_is_too_large_is_said_to_diverge():
    with pytest.raises(Diverged, match="Use an lr below 1000"):
        TaylorOfNetwork(lr=1000, steps=50, width=8).fit(Data(sample="s", n=40, d=3, x=X, y=Y), Context(seed=0))
