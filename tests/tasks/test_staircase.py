"""The staircase target, and its errors degree by degree."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.uniform import Sphere
from bfc_bench.tasks.targets.harmonics import degree_errors
from bfc_bench.tasks.targets.staircase import Staircase
from bfc_bench.tasks.teacher_task import ScaledTeacher
from bfc_bench.utils.legendre import harmonics_dimension, zonal

D, P = 6, 4


def points(m, d=D, seed=0):
    return Sphere().law(np.random.default_rng(0), d).sample(np.random.default_rng(seed), m)


def teacher():
    return Staircase(degree=P).draw(np.random.default_rng(1), Sphere().law(np.random.default_rng(0), D))


def part(drawn, degree, x):
    return drawn.a * zonal(D, degree, x @ drawn.directions[degree - 1])


def test_it_is_the_sum_of_its_parts_of_unit_variance_in_all():
    x, drawn = points(200_000), teacher()
    np.testing.assert_allclose(drawn(x), sum(part(drawn, k, x) for k in range(1, P + 1)), atol=1e-12)
    squares = drawn(x) ** 2
    assert abs(squares.mean() - 1) < 5 * squares.std() / len(x) ** 0.5
    np.testing.assert_allclose(np.linalg.norm(drawn.directions, axis=1), 1)


def test_errors_are_unbiased_for_known_parts():
    """Predictions with the share s_k of degree k: (1 - s_k)^2, over 40 samples, within 4 standard errors."""
    drawn, shares = teacher(), np.array([1.0, 0.5, 0.0, -0.5])
    found = []
    for seed in range(40):
        x = points(600, seed=seed + 10)
        prediction = sum(share * part(drawn, k, x) for k, share in enumerate(shares, 1))
        found.append(list(drawn.part_errors(x, prediction).values()))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / 40**0.5
    assert (np.abs(mean - (1 - shares) ** 2) < 4 * error + 1e-12).all()
    assert error.max() < 0.15


def test_the_scale_of_a_target_does_not_matter():
    x, drawn = points(500), teacher()
    prediction = np.sin(x[:, 0])
    scaled = ScaledTeacher(drawn, 3.0).part_errors(x, 3 * prediction)
    assert scaled == pytest.approx(drawn.part_errors(x, prediction), rel=1e-9)


def test_the_estimate_is_the_mean_over_all_pairs():
    """Against the sum over pairs i != j written out."""
    x = points(23)
    residual = np.random.default_rng(3).standard_normal(23)
    products = x @ x.T
    for k, value in enumerate(degree_errors(x, residual, 3), 1):
        kernel = harmonics_dimension(D, k) ** 0.5 * zonal(D, k, products)
        pairs = residual[:, None] * residual * kernel
        np.testing.assert_allclose(value, (pairs.sum() - np.trace(pairs)) / (23 * 22), rtol=1e-10)
