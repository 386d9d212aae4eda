"""Polynomial nets are the polynomials they are said to be, and learn one of their own kind."""

import math

import numpy as np
import pytest
from bfc_plugins.networks.poly_net import PolyNet, PolynomialNet

from bfc_bench.learner import Context, Data
from bfc_bench.seeds import stream

LAW = Context(square_mean=np.ones(4))


def sample(n=300, seed=0, target=lambda x: x[:, 0]):
    x = np.random.default_rng(seed).uniform(-(3**0.5), 3**0.5, (n, 4))
    return Data(sample=f"s{seed}", n=n, d=4, x=x, y=target(x))


@pytest.mark.parametrize("degree", [1, 2, 3, 8])
def test_forward_equals_numpy(degree):
    """sum_r sum_k c_rk He_k(t_r) / sqrt(k!), t_r = w_r.z + b_r."""
    rng = np.random.default_rng(0)
    z, shift = rng.standard_normal((11, 3)), rng.standard_normal(5)
    polynomial = PolynomialNet(3, 5, degree)
    two = {**polynomial.init(stream("polynomial")), "b": shift, "constant": np.array(0.7)}
    for i, point in enumerate(z):
        values = two["W"] @ point + shift
        terms = [
            two["c"][k - 1] @ np.polynomial.hermite_e.hermeval(values, [0] * k + [1]) / math.sqrt(math.factorial(k))
            for k in range(1, degree + 1)
        ]
        assert polynomial(two, z)[i] == pytest.approx(0.7 + sum(terms))


@pytest.mark.parametrize(("with_squares", "degree"), [(False, 3), (True, 2)])
def test_is_a_polynomial_of_its_degree(with_squares, degree):
    """Along a line it is one of degree q, of degree 2 q with squares, and of no lower degree."""
    learner = PolyNet(width=6, degree=degree, with_squares=with_squares, steps=20)
    fitted = learner.fit(sample(), LAW)
    order = degree * (2 if with_squares else 1)
    t = np.linspace(-1, 1, 40)
    line = np.array([0.3, -0.1, 0.5, 0.2]) + t[:, None] * np.array([1.0, -0.6, 0.2, 0.8])
    values = fitted.predict(line)
    scale = np.abs(values).max()
    fits = {k: np.polynomial.Chebyshev.fit(t, values, k)(t) for k in (order - 1, order)}
    assert np.abs(fits[order] - values).max() < 1e-9 * scale
    assert np.abs(fits[order - 1] - values).max() > 1e-6 * scale


def test_square_free_degree_is_what_a_net_of_lower_degree_lacks():
    data, test = (sample(n, seed, target=lambda x: x[:, 0] * x[:, 1] * x[:, 2]) for n, seed in ((600, 0), (1000, 1)))
    errors = {}
    for degree in (2, 3):
        learner = PolyNet(width=10, steps=1500, lr=0.02, batch_size=32, with_squares=False, degree=degree)
        errors[degree] = np.mean((learner.fit(data, LAW).predict(test.x) - test.y) ** 2) / np.var(test.y)
    assert errors[2] > 0.9
    assert errors[3] < 1e-3
