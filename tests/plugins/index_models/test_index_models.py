"""Learners of single-index models against closed forms, plain loops and each other."""

from dataclasses import replace

import numpy as np
import pytest
from bfc_plugins.index_models.neuron_gauss_newton import NeuronGaussNewton
from bfc_plugins.index_models.one_pass_network import RIDGES, OnePassNetwork
from bfc_plugins.index_models.spherical_sgd import SphericalSgd, _start
from bfc_plugins.index_models.tensor_unfolding import TensorUnfolding, _power_step, _unfolded
from fit_samples import first
from sklearn.linear_model import RidgeCV

from bfc_bench.learner import Context, Data, Job
from bfc_bench.seeds import stream
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.targets.index_model import IndexModel
from bfc_bench.utils.hermite import hermite
from bfc_bench.utils.legendre import zonal

D = 8


def sample(n, degree=3, d=D, seed=0):
    """Points and labels of a single-index model, and its teacher."""
    rng = np.random.default_rng(seed)
    teacher = IndexModel(terms=((degree,),)).draw(rng, Gaussian().law(rng, d))
    x = rng.standard_normal((n, d))
    return Data("s", n, d, x=x, y=teacher(x)), teacher


def nmse(predictor, teacher, d=D):
    x = np.random.default_rng(9).standard_normal((4000, d))
    return np.mean((predictor.predict(x) - teacher(x)) ** 2) / np.var(teacher(x))


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_the_moment_tensor_has_the_hermite_polynomials_of_every_projection(degree):
    """<H_k(x), w^k> = sqrt(k!) he_k(w . x) for |w| = 1."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((5, D)), rng.standard_normal(D)
    w /= np.linalg.norm(w)
    for point in x:
        tensor = _unfolded(point[None], np.ones(1), degree).reshape((D,) * degree)
        for _ in range(degree):
            tensor = tensor @ w
        factorial = np.prod(np.arange(1, degree + 1))
        assert tensor == pytest.approx(np.sqrt(factorial) * hermite(w @ point, degree)[-1], abs=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_a_power_step_contracts_the_tensor_with_all_but_one_vector(degree):
    train, _ = sample(50, degree=2)
    w = np.eye(D)[0]
    tensor = _unfolded(train.x, train.y, degree).reshape((D,) * degree)
    for _ in range(degree - 1):
        tensor = tensor @ w
    np.testing.assert_allclose(_power_step(train.x, train.y, w, degree), tensor / np.linalg.norm(tensor), atol=1e-9)


@pytest.mark.parametrize(("order", "rank"), [(3, 2), (4, 1), (4, 3)])
def test_deflation_finds_every_direction_of_a_sum(order, rank):
    """On the sphere sum_s phi_k(beta_s . x) is a function of r orthonormal directions, at any scale of the inputs."""
    rng = np.random.default_rng(1)
    d, n = 6, 6000
    beta = np.linalg.qr(rng.standard_normal((d, d)))[0][:rank]
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1)[:, None]
    train = Data("s", n, d, x=x, y=zonal(d, order, x @ beta.T).sum(1))
    found = TensorUnfolding(order=order, degree=order, rank=rank).fit(train, Context(square_mean=np.full(d, 1 / d)))
    terms = [found] if rank == 1 else found.terms
    overlaps = np.abs([term.direction / np.linalg.norm(term.direction) @ beta.T for term in terms])
    assert np.allclose(np.sort(overlaps, axis=1)[:, -1], 1, atol=0.02)
    assert sorted(overlaps.argmax(axis=1)) == list(range(rank))
    assert np.mean((found.predict(x) - train.y) ** 2) < 0.1 * np.var(train.y)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_unfolding_finds_the_direction_with_many_points(degree):
    train, teacher = sample(40_000, degree, d=6)
    predictor = TensorUnfolding(order=degree, degree=degree).fit(train, Context())
    assert abs(predictor.direction @ teacher.directions[0]) > 0.98
    assert nmse(predictor, teacher, 6) < 0.2


@pytest.mark.parametrize("c", [0.0, 0.5])
def test_the_loop_over_many_fits_is_the_plain_loop_of_each(c):
    """The activation is c he_1 + he_3; with c the step is larger, as for every information exponent below 3."""
    train, _ = sample(300)
    jobs = [
        Job(SphericalSgd(rate=rate, link=(0.0, c, 0.0, 1.0)), first(train, n), Context(seed=seed))
        for seed, (rate, n) in enumerate([(0.3, 300), (1.0, 120), (0.1, 300), (3.0, 7)])
    ]
    for job, predictor in zip(jobs, SphericalSgd.fit_batch(jobs), strict=True):
        w, after = _start(job.ctx, D), []
        for x, y in zip(job.train.x, job.train.y, strict=True):
            slope = y * (c + (3 * (w @ x) ** 2 - 3) / np.sqrt(6))  # he_1 = t, he_3 = (t^3 - 3 t) / sqrt 6
            w = w + job.learner.rate * (1 / D if c else D**-1.5) * slope * (x - (w @ x) * w)
            w /= np.linalg.norm(w)
            after.append(w)
        mean = np.mean(after[-max(1, round(0.25 * job.train.n)) :], axis=0)
        np.testing.assert_allclose(predictor.direction, mean / np.linalg.norm(mean), rtol=1e-9)


def test_gauss_newton_recovers_the_neuron_to_rounding_from_few_points():
    train, teacher = sample(12 * D)
    predictor = NeuronGaussNewton().fit(train, Context())
    assert nmse(predictor, teacher) < 1e-20
    np.testing.assert_allclose(np.abs(predictor.coefficients), [0, 0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(predictor.hidden(train.x)["S2"][:, 0] ** 2, (train.x @ teacher.directions[0]) ** 2)


def test_what_does_not_predict_held_out_points_is_replaced_by_the_mean():
    """Labels without signal; and too few points, which a neuron fits without finding the direction."""
    train, _ = sample(60)
    noise = replace(train, y=3 + np.random.default_rng(3).standard_normal(60))
    np.testing.assert_allclose(NeuronGaussNewton().fit(noise, Context()).predict(train.x), noise.y.mean())
    for n in (D, D + 4, 2 * D):
        train, teacher = sample(n)
        assert nmse(NeuronGaussNewton(degree=4).fit(train, Context()), teacher) < 2


def test_a_label_that_is_constant_is_fitted_by_a_constant():
    train, _ = sample(60)
    train = replace(train, y=np.full(60, 2.0))
    for learner in (SphericalSgd(), TensorUnfolding(), NeuronGaussNewton()):
        np.testing.assert_allclose(learner.fit(train, Context()).predict(train.x), 2.0, atol=1e-6)


def test_paths_of_a_batch_are_the_plain_gradient_steps_of_each_network():
    """d/dw_j of (f - y)^2 / 2 without the factor 1 / width is (f - y) a_j relu'(w_j . x + b_j) x."""
    train, _ = sample(200)
    jobs = [
        Job(OnePassNetwork(rate=rate, width=5), first(train, n), Context(seed=seed))
        for rate, n, seed in [(0.3, 200, 0), (0.3, 80, 0), (0.1, 200, 0), (0.3, 200, 1)]
    ]
    for job, predictor in zip(jobs, OnePassNetwork.fit_batch(jobs), strict=True):
        rng = stream(job.ctx.seed, "one-pass-network")
        w, b, a = rng.standard_normal((5, D)) / D**0.5, rng.uniform(-1, 1, 5), rng.choice([-1.0, 1.0], 5)
        for x, y in zip(job.train.x, job.train.y, strict=True):
            h = w @ x + b
            error = np.mean(a * np.maximum(h, 0)) - y
            gradients = error * a * (h > 0), error * np.maximum(h, 0)
            w = w - job.learner.rate / D * np.outer(gradients[0], x)
            b, a = b - job.learner.rate / D * gradients[0], a - job.learner.rate / D * gradients[1]
        np.testing.assert_allclose(predictor.w, w, rtol=1e-9)
        np.testing.assert_allclose(predictor.b, b, rtol=1e-9)


def test_the_units_are_read_out_as_scikit_learns_cross_validated_ridge_does():
    train, _ = sample(150, degree=2)
    found = OnePassNetwork(width=12).fit(train, Context())
    units = np.maximum(train.x @ found.w.T + found.b, 0)
    scale = np.trace(np.cov(units.T, bias=True)) * len(units) / units.shape[1]
    expected = RidgeCV(RIDGES * scale).fit(units, train.y)
    assert found.info["ridge"] == pytest.approx(expected.alpha_)
    np.testing.assert_allclose(found.c, expected.coef_, rtol=1e-6)
    np.testing.assert_allclose(found.predict(train.x), expected.predict(units), atol=1e-9)
