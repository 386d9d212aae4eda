"""The low-rank polynomial target."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.inputs.uniform import Sphere, Uniform
from bfc_bench.tasks.targets.lowrank_poly import LowrankPoly, LowrankTeacher
from bfc_bench.utils.legendre import legendre

D, M = 6, 200_000


def law_of(inputs):
    return inputs.law(np.random.default_rng(0), D)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_gegenbauer_form_has_mean_zero_and_its_closed_variance(degree):
    """E[phi_p(b.x) phi_p(c.x)] = P_p(b.c), so the variance is a^T P_p(beta beta^T) a."""
    target = LowrankPoly(degree=degree, rank=3)
    law = law_of(Sphere())
    teacher = target.draw(np.random.default_rng(1), law)
    variance = teacher.coefficients @ legendre(D, degree, np.eye(3)) @ teacher.coefficients
    values = teacher(law.sample(np.random.default_rng(2), M))
    assert abs(values.mean()) < 5 * values.std() / np.sqrt(M)
    squares = values**2
    assert abs(squares.mean() - variance) < 5 * squares.std() / np.sqrt(M)


def test_monomial_form_by_hand():
    teacher = LowrankTeacher(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0]), 3, "monomial")
    np.testing.assert_allclose(teacher(np.array([[1.0, 2.0], [-1.0, 0.5]])), [2 - 8, -2 - 0.125])


@pytest.mark.parametrize("inputs", [Sphere(), Gaussian(), Uniform()], ids=lambda inputs: inputs.kind)
def test_monomial_terms_have_unit_norm_under_the_law(inputs):
    law = law_of(inputs)
    teacher = LowrankPoly(degree=2, form="monomial").draw(np.random.default_rng(1), law)
    assert np.mean(teacher(law.sample(np.random.default_rng(2), M)) ** 2) == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("form", ["monomial", "gegenbauer"])
def test_rank_directions_alone_matter(form):
    teacher = LowrankPoly(degree=3, rank=2, form=form).draw(np.random.default_rng(1), law_of(Sphere()))
    np.testing.assert_allclose(teacher.directions @ teacher.directions.T, np.eye(2), atol=1e-14)
    x = np.random.default_rng(3).standard_normal((50, D)) / 10
    inside = x @ teacher.directions.T @ teacher.directions
    np.testing.assert_allclose(teacher(inside), teacher(x), atol=1e-12)
    assert np.std(teacher(x)) > 1e-6


def test_coefficients_have_unit_square_sum():
    teacher = LowrankPoly(degree=3, rank=4).draw(np.random.default_rng(1), law_of(Sphere()))
    np.testing.assert_allclose(teacher.coefficients, 0.5)
