"""Moments and supports of the input laws, against closed forms."""

import math

import numpy as np
import pytest
from scipy import stats

from bfc_bench.tasks.inputs import INPUTS, gaussian
from bfc_bench.tasks.inputs.gaussian import ExponentialPower, Gaussian, equal_row_factor
from bfc_bench.tasks.inputs.uniform import Hypercube, Sphere, Uniform

D, M = 6, 200_000


def covariance(law):
    """E[x x^T] in closed form."""
    if isinstance(law.inputs, Sphere):
        return np.eye(law.d) / law.d
    if isinstance(law.inputs, gaussian.GaussianNonspherical):
        return law.drawn["sigma"] @ law.drawn["sigma"].T
    if isinstance(law.inputs, gaussian.GaussianMixture):
        return np.mean([sigma @ sigma.T for sigma in law.drawn["sigmas"]], axis=0)
    if isinstance(law.inputs, gaussian.GaussianDropped):
        return (1 - 1 / law.d) * np.eye(law.d)
    if isinstance(law.inputs, gaussian.GaussianPowerLaw):
        return np.diag(np.arange(1, law.d + 1) ** -law.inputs.a)
    return np.eye(law.d)


@pytest.fixture(scope="module", params=[*INPUTS], ids=lambda inputs: inputs.kind)
def drawn(request):
    law = request.param().law(np.random.default_rng(1), D)
    return law, law.sample(np.random.default_rng(2), M)


def test_mean_is_zero_and_second_moments_are_the_closed_form(drawn):
    law, x = drawn
    assert x.shape == (M, D)
    assert x.dtype == np.float64
    assert np.all(np.abs(x.mean(axis=0)) < 5 * x.std(axis=0) / np.sqrt(M))
    products = x[:, :, None] * x[:, None, :]
    error = np.abs(products.mean(axis=0) - covariance(law))
    assert np.all(error < 5 * products.std(axis=0) / np.sqrt(M) + 1e-12)


def test_supports():
    rng = np.random.default_rng(0)
    uniform, sphere, cube = (law().law(rng, D).sample(rng, 20_000) for law in (Uniform, Sphere, Hypercube))
    assert 1.73 < np.max(np.abs(uniform)) <= np.sqrt(3)
    np.testing.assert_allclose(np.sum(sphere**2, axis=1), 1, rtol=1e-14)
    assert set(np.unique(cube)) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("inputs", "kurtosis"),
    [
        (Gaussian(), 3.0),
        (Uniform(), 9 / 5),
        (Sphere(), 3 * D / (D + 2)),
        (ExponentialPower(power=1.0), 6.0),
        (ExponentialPower(power=2.0), 3.0),
        (ExponentialPower(power=100.0), 9 / 5),
    ],
)
def test_kurtosis_tells_the_isotropic_laws_apart_and_ranges_from_laplace_to_uniform(inputs, kurtosis):
    law = inputs.law(np.random.default_rng(0), D)
    fourth = np.mean(law.sample(np.random.default_rng(3), M) ** 4) / law.square_mean[0] ** 2
    assert fourth == pytest.approx(kurtosis, rel=0.02)


def test_the_tail_of_power_one_tenth_has_its_quantiles_and_variance_one():
    """|x / s|^.1 is gamma of shape 10, so that E x^2 = s^2 Gamma(30) / Gamma(10) = 1."""
    x = ExponentialPower(power=0.1).law(np.random.default_rng(0), D).sample(np.random.default_rng(3), M)
    scale = (math.factorial(9) / math.factorial(29)) ** 0.5
    for level in (0.1, 0.5, 0.99):
        assert np.quantile(np.abs(x), level) == pytest.approx(scale * stats.gamma(10).ppf(level) ** 10, rel=0.03)


@pytest.mark.parametrize("condition", [1.0, 2.0, 100.0])
@pytest.mark.parametrize("d", [1, 2, 7, 60])
def test_sigma_has_unit_rows_and_the_given_condition(d, condition):
    sigma = equal_row_factor(np.random.default_rng(d), d, condition)
    np.testing.assert_allclose(np.linalg.norm(sigma, axis=1), 1, rtol=1e-12)
    singular = np.linalg.svd(sigma, compute_uv=False)
    assert singular[0] / singular[-1] == pytest.approx(condition if d > 1 else 1, rel=1e-9)
    np.testing.assert_allclose(singular[:-1] / singular[1:], condition ** (1 / max(d - 1, 1)), rtol=1e-9)


def test_mixture_has_the_fourth_moment_of_its_components():
    """E(w.x)^4 = 3 mean_c (w^T C_c w)^2, which differs from one Gaussian of the same covariance."""
    law = gaussian.GaussianMixture(components=2, condition=5).law(np.random.default_rng(4), D)
    covariances = [sigma @ sigma.T for sigma in law.drawn["sigmas"]]
    _, vectors = np.linalg.eigh(covariances[0] - covariances[1])
    w = vectors[:, 0]
    expected = 3 * np.mean([(w @ c @ w) ** 2 for c in covariances])
    fourth = (law.sample(np.random.default_rng(5), M) @ w) ** 4
    assert abs(fourth.mean() - expected) < 5 * fourth.std() / np.sqrt(M)
    assert expected > 1.2 * 3 * np.mean([w @ c @ w for c in covariances]) ** 2


def test_every_point_lacks_one_coordinate_and_all_coordinates_are_lacked_alike():
    x = gaussian.GaussianDropped().law(np.random.default_rng(0), D).sample(np.random.default_rng(1), M)
    assert np.all(np.sum(x == 0, axis=1) == 1)
    lacked = np.mean(x == 0, axis=0)
    assert np.all(np.abs(lacked - 1 / D) < 5 * np.sqrt((1 / D) * (1 - 1 / D) / M))
    others = x[x[:, 0] == 0, 1:]
    np.testing.assert_allclose(np.mean(others**4), 3, rtol=0.03)


def test_gaussian_inputs_may_have_a_mean():
    law = Gaussian(mean=1.5).law(np.random.default_rng(0), D)
    x = law.sample(np.random.default_rng(1), M)
    np.testing.assert_allclose(law.square_mean, np.full(D, 1 + 1.5**2))
    centred = Gaussian().law(np.random.default_rng(0), D).sample(np.random.default_rng(1), M)
    np.testing.assert_allclose(x - centred, 1.5)


def test_the_sphere_of_one_dimension_is_refused():
    assert "d >= 2" in Sphere().check(1)
    assert Sphere().check(2) is None
