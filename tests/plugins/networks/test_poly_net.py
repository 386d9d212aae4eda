"""Polynomial nets are the polynomials they are said to be, and learn one of their own kind."""

import math

import numpy as np
import pytest
from bfc_plugins.networks.poly_net import PolyNet, PolynomialNet, PowerNet

from bfc_bench.errors import Diverged, UsageError
from bfc_bench.learner import Context, Data, Job
from bfc_bench.seeds import stream
from bfc_bench.testing import check_learner

LAW = Context(square_mean=np.ones(4))


def sample(n: int = 300, seed: int = 0, target=lambda x: x[:, 0]) -> Data:
    x = np.random.default_rng(seed).uniform(-(3**0.5), 3**0.5, (n, 4))
    return Data(sample=f"s{seed}", n=n, d=4, x=x, y=target(x))


def test_keeps_the_contract():
    check_learner(PolyNet)


@pytest.mark.parametrize("degree", [1, 2, 3, 8])
def test_forward_equals_numpy(degree):
    """sum_r a_r t_r^q / sqrt(E t^2q) and sum_r sum_k c_rk He_k(t_r) / sqrt(k!), t_r = w_r.z + b_r."""
    rng = np.random.default_rng(0)
    z, shift = rng.standard_normal((11, 3)), rng.standard_normal(5)
    power, polynomial = PowerNet(3, 5, degree), PolynomialNet(3, 5, degree)
    one = {**power.init(stream("power")), "b": shift, "constant": np.array(0.7)}
    two = {**polynomial.init(stream("polynomial")), "b": shift, "constant": np.array(0.7)}
    double_factorial = math.prod(range(2 * degree - 1, 0, -2))
    for i, point in enumerate(z):
        values = one["W"] @ point + shift
        assert power(one, z)[i] == pytest.approx(0.7 + one["a"] @ values**degree / math.sqrt(double_factorial))
        values = two["W"] @ point + shift
        terms = [
            two["c"][k - 1] @ np.polynomial.hermite_e.hermeval(values, [0] * k + [1]) / math.sqrt(math.factorial(k))
            for k in range(1, degree + 1)
        ]
        assert polynomial(two, z)[i] == pytest.approx(0.7 + sum(terms))


@pytest.mark.parametrize("activation", ["power", "polynomial"])
@pytest.mark.parametrize(("with_squares", "degree"), [(False, 3), (True, 2)])
def test_is_a_polynomial_of_its_degree(activation, with_squares, degree):
    """Along a line it is one of degree q, of degree 2 q with squares, and of no lower degree."""
    learner = PolyNet(width=6, degree=degree, activation=activation, with_squares=with_squares, steps=20)
    fitted = learner.fit(sample(), LAW)
    order = degree * (2 if with_squares else 1)
    t = np.linspace(-1, 1, 40)
    line = np.array([0.3, -0.1, 0.5, 0.2]) + t[:, None] * np.array([1.0, -0.6, 0.2, 0.8])
    values = fitted.predict(line)
    scale = np.abs(values).max()
    fits = {k: np.polynomial.Chebyshev.fit(t, values, k)(t) for k in (order - 1, order)}
    assert np.abs(fits[order] - values).max() < 1e-9 * scale
    assert np.abs(fits[order - 1] - values).max() > 1e-6 * scale


@pytest.mark.parametrize(
    ("options", "target"),
    [
        ({"activation": "power", "degree": 2}, lambda x: (x[:, 0] + x[:, 1] * 0.5 + 1) ** 2 - x[:, 2] ** 2),
        ({"activation": "polynomial", "degree": 3}, lambda x: (0.6 * x[:, 0] + 0.8 * x[:, 1]) ** 3 + x[:, 2] ** 2),
    ],
    ids=["power", "polynomial"],
)
def test_fits_a_planted_polynomial_of_its_degree(options, target):
    data, test = sample(600, target=target), sample(1000, seed=1, target=target)
    learner = PolyNet(width=10, steps=1500, lr=0.02, batch_size=32, with_squares=False, **options)
    error = np.mean((learner.fit(data, LAW).predict(test.x) - test.y) ** 2) / np.var(test.y)
    assert error < 1e-4


def test_square_free_degree_is_what_a_net_of_lower_degree_lacks():
    data, test = (sample(n, seed, target=lambda x: x[:, 0] * x[:, 1] * x[:, 2]) for n, seed in ((600, 0), (1000, 1)))
    errors = {}
    for degree in (2, 3):
        learner = PolyNet(width=10, steps=1500, lr=0.02, batch_size=32, with_squares=False, degree=degree)
        errors[degree] = np.mean((learner.fit(data, LAW).predict(test.x) - test.y) ** 2) / np.var(test.y)
    assert errors[2] > 0.9
    assert errors[3] < 1e-3


def test_binary_labels_are_fitted_by_their_sign():
    x = sample(600).x
    data = Data(sample="b", n=600, d=4, kind="binary", x=x, y=np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0))
    fitted = PolyNet(width=20, degree=2, steps=1000, lr=0.01, with_squares=False).fit(data, LAW)
    test = sample(1000, seed=1).x
    assert np.mean(np.sign(fitted.predict(test)) == np.sign(test[:, 0] * test[:, 1])) > 0.95


def test_divergence_is_reported():
    data = sample(target=lambda x: 1e200 * x[:, 0])
    with pytest.raises(Diverged, match="poly-net: a gradient or the loss was not finite"):
        PolyNet(width=4, degree=8, steps=200, lr=1e3, clip=1e9, loss="square").fit(
            Data(sample="wild", n=300, d=4, x=data.x * 1e4, y=data.y), LAW
        )


def test_shapes_make_the_batch():
    train = sample()
    key = PolyNet().batch_key(train)
    assert key == PolyNet(lr=1.0, weight_decay=1.0, clip=2.0).batch_key(sample(5, seed=3))
    for other in ({"width": 3}, {"degree": 3}, {"activation": "power"}, {"with_squares": False}, {"steps": 7}):
        assert key != PolyNet(**other).batch_key(train)


def test_batched_equals_alone_bitwise_on_a_cpu():
    options = {"width": 5, "degree": 3, "steps": 30, "batch_size": 16}
    jobs = [
        Job(PolyNet(lr=lr, **options), sample(n, seed), Context(seed=seed, square_mean=np.ones(4)))
        for lr, n, seed in ((0.01, 40, 0), (0.001, 300, 1), (0.01, 40, 1))
    ]
    test = sample(50, seed=9).x
    for job, predictor in zip(jobs, PolyNet.fit_batch(jobs), strict=True):
        np.testing.assert_array_equal(predictor.predict(test), job.learner.fit(job.train, job.ctx).predict(test))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"degree": 0}, "degree must be greater than or equal to 1"),
        ({"degree": 33}, "degree must be less than or equal to 32"),
        ({"activation": "relu"}, "activation must be 'power' or 'polynomial'"),
        ({"width": 0}, "width must be greater than or equal to 1"),
        ({"lr": 0}, "lr must be greater than 0"),
        ({"widths": 5}, "Did you mean 'width'"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(UsageError, match=words):
        PolyNet.parse(options, "suite: learner")
