"""A few rows stand for all points: equal loss and gradient for every network, whatever the number of points."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from bfc_plugins.quadratic import statistics as quadratic_statistics
from bfc_plugins.quadratic.net import QuadraticNet
from bfc_plugins.quadratic.statistics import QuadraticStatistics

from bfc_bench.seeds import stream

NETS = {
    "squares": QuadraticNet(5, (7,), ((1,),)),
    "linear first layer": QuadraticNet(6, (3,), ((0,),)),
    "both": QuadraticNet(3, (4,), ((1, 0),)),
    "truncated between layers": QuadraticNet(5, (7,), ((1,),), truncate=0.1),
}


def drawn(net: QuadraticNet, n: int):
    """Parameters, points, heavy-tailed labels and weights."""
    rng = stream("statistics", net.d, n)
    params = net.init(rng, (0.6,), rng.uniform(0.5, 1.5, net.d))
    params["log_alpha"], params["constant"] = rng.standard_normal(1), np.array(0.3)
    x = rng.uniform(-1.7, 1.7, (n, net.d))
    return params, x, rng.standard_normal(n) ** 3, rng.uniform(0.1, 1.0, n)


def loss_and_gradient(apply, params, inputs, y, weights):
    """Of the mean of weights (F - y)^2, in float64."""
    fixed = {"square_mean": params["square_mean"]}
    trained = {key: jax.numpy.asarray(value) for key, value in params.items() if key not in fixed}

    def loss(trained):
        return (weights * (apply({**trained, **fixed}, jax.numpy.asarray(inputs)) - y) ** 2).mean()

    return jax.value_and_grad(loss)(trained)


@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
@pytest.mark.parametrize("n", [3, 40, 1000])
def test_loss_and_gradient_are_those_of_all_points(net, n, monkeypatch):
    monkeypatch.setattr(quadratic_statistics, "CHUNK", 300)
    statistics = QuadraticStatistics(net)
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        params, x, y, weights = drawn(net, n)
        q, z = statistics.rows(params, x, y, weights)
        assert q.shape == (min(n, statistics.coefficients + 1), statistics.coefficients)
        for scale in (0.0, 1.0, 3.0):  # the rows know nothing of the weights W
            other = {**params, "W2": scale * params["W2"] + 0.1, "constant": params["constant"] - scale}
            loss, gradient = loss_and_gradient(net, other, x, y, weights)
            found, found_gradient = loss_and_gradient(statistics, other, q, z, 1.0)
            assert float(found) == pytest.approx(float(loss), rel=1e-10)
            for key, value in gradient.items():
                np.testing.assert_allclose(found_gradient[key], value, rtol=1e-10, atol=1e-10 * float(loss))


@pytest.mark.parametrize("net", NETS.values(), ids=NETS.keys())
def test_the_network_is_linear_in_its_statistics(net):
    statistics = QuadraticStatistics(net)
    params, x, *_ = drawn(net, 20)
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        expected = net(params, jax.numpy.asarray(x))
        np.testing.assert_allclose(statistics(params, statistics.features(params, x)), expected, rtol=1e-12)


def test_small_residuals_keep_their_digits():
    """Labels that the network fits up to 1e-7: a matrix of fourth moments in float64 would say 1e-16 plus or minus."""
    statistics = QuadraticStatistics(NETS["squares"])
    params, x, y, weights = drawn(statistics.net, 500)
    exact = statistics(params, statistics.features(params, x))
    q, z = statistics.rows(params, x, exact + 1e-7 * y, weights)
    assert np.mean((statistics(params, q) - z) ** 2) == pytest.approx(1e-14 * np.mean(weights * y**2), rel=1e-6)


def test_statistics_pay_for_many_points_and_not_for_wide_inputs():
    narrow, wide = (QuadraticStatistics(QuadraticNet(d, (20,), ((1,),))) for d in (10, 200))
    assert narrow.pays(1000)
    assert not narrow.pays(10)
    assert not wide.pays(1000)
    assert wide.pays(10**6)
    few, many = (narrow.flops(n, 2000) - narrow.flops(n, 1000) for n in (10**3, 10**6))
    assert few == many  # a step does not know n
