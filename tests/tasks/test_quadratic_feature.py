"""The target quadratic-feature: the law of its feature, the orthonormal link, and its correlation with the feature."""

import numpy as np
import pytest

from bfc_bench.seeds import stream
from bfc_bench.tasks.inputs.gaussian import Gaussian
from bfc_bench.tasks.targets.quadratic_feature import QuadraticFeature, orthonormal_polynomials
from bfc_bench.utils.hermite import hermite


def drawn(d=8, m=200_000, **options):
    law = Gaussian().law(stream("law"), d)
    return QuadraticFeature(**options).draw(stream("teacher"), law), law.sample(stream("x"), m)


def test_the_form_is_symmetric_without_a_trace_and_of_unit_variance():
    teacher, x = drawn()
    np.testing.assert_allclose(teacher.form, teacher.form.T, atol=1e-15)
    assert np.trace(teacher.form) == pytest.approx(0, abs=1e-12)
    assert 2 * np.sum(teacher.form**2) == pytest.approx(1)
    assert np.var(teacher.feature(x)) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("d", [2, 8, 12])
def test_the_polynomials_are_orthonormal_under_the_law_of_the_feature(d):
    half = stream("gamma", d)
    p = (half.chisquare(d / 2, 400_000) - half.chisquare(d / 2, 400_000)) / np.sqrt(2 * d)
    values = np.array([np.polynomial.polynomial.polyval(p, row) for row in orthonormal_polynomials(d, 2)])
    assert np.abs(values @ values.T / p.size - np.eye(3)).max() < 0.05
    # E p^4 = 3 + 12 / d, so that h_2 = (p^2 - 1) / sqrt(2 + 12 / d).
    np.testing.assert_allclose(orthonormal_polynomials(d, 2)[2], np.array([-1, 0, 1]) / np.sqrt(2 + 12 / d), rtol=1e-9)


def test_the_polynomials_are_those_of_hermite_for_large_d():
    p = np.linspace(-2, 2, 9)
    values = [np.polynomial.polynomial.polyval(p, row) for row in orthonormal_polynomials(10**6, 4)]
    np.testing.assert_allclose(values, hermite(p, 4), atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("c", [0.2, 0.9])
def test_the_target_has_variance_1_and_correlation_c_with_its_feature(c, k):
    teacher, x = drawn(c=c, k=k)
    y, p = teacher(x), teacher.feature(x)
    assert np.mean(y) == pytest.approx(0, abs=0.02)
    assert np.var(y) == pytest.approx(1, abs=0.08)
    assert np.mean(y * p) == pytest.approx(c, abs=0.04)
    np.testing.assert_allclose(teacher.hidden(x[:3])["S2"], p[:3, None], rtol=1e-12)
    assert teacher.facts == {"c": c}


def test_a_feature_of_low_rank_has_a_level_below_it_and_the_same_law():
    """36^.5 = 6 eigenvectors, and 5 to the nearest even number."""
    teacher, x = drawn(d=36, rank_exponent=0.5, k=3)
    assert np.linalg.matrix_rank(teacher.form) == 6
    assert QuadraticFeature(rank_exponent=0.5).rank(25) == 4
    hidden = teacher.hidden(x)
    assert {name: values.shape[1] for name, values in hidden.items()} == {"S2": 6, "S3": 1}
    np.testing.assert_allclose(hidden["S2"].T @ hidden["S2"] / len(x), np.eye(6), atol=0.02)
    np.testing.assert_allclose(hidden["S2"] ** 2 @ [1, 1, 1, -1, -1, -1] / np.sqrt(12), hidden["S3"][:, 0], rtol=1e-9)
    y = teacher(x)
    assert np.var(hidden["S3"]) == pytest.approx(1, abs=0.02)
    assert np.var(y) == pytest.approx(1, abs=0.08)
    assert np.mean(y * hidden["S3"][:, 0]) == pytest.approx(0.7, abs=0.04)
