"""Spherical harmonics: dimensions, normalisation and orthogonality, exact by quadrature."""

from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from scipy.special import eval_gegenbauer, roots_gegenbauer

from bfc_bench.utils.legendre import harmonics_dimension, legendre, zonal

GRID = np.linspace(-1, 1, 41)


@pytest.mark.parametrize("d", [2, 3, 8, 40, 1000])
def test_dimension_is_exact_at_every_size(d):
    for p in range(1, 20):
        closed = Fraction((2 * p + d - 2) * factorial(p + d - 3), factorial(p) * factorial(d - 2))
        assert harmonics_dimension(d, p) == closed
        homogeneous = sum(harmonics_dimension(d, q) for q in range(p % 2, p + 1, 2))
        assert homogeneous == comb(d + p - 1, p)


@pytest.mark.parametrize("d", [2, 3, 5, 20, 200])
def test_zonal_harmonics_are_orthonormal(d):
    """Gauss-Gegenbauer quadrature with 12 nodes is exact to degree 23 for t = beta . x on the sphere."""
    nodes, weights = roots_gegenbauer(12, (d - 2) / 2)
    values = np.stack([zonal(d, p, nodes) for p in range(9)])
    np.testing.assert_allclose((values * weights / weights.sum()) @ values.T, np.eye(9), atol=1e-9)


def test_legendre_in_two_dimensions_is_chebyshev():
    for p in range(10):
        np.testing.assert_allclose(legendre(2, p, GRID), np.cos(p * np.arccos(GRID)), atol=1e-12)


@pytest.mark.parametrize("d", [3, 4, 17, 100])
def test_legendre_is_gegenbauer_over_its_value_at_one(d):
    index = (d - 2) / 2
    for p in range(10):
        reference = eval_gegenbauer(p, index, GRID) / eval_gegenbauer(p, index, 1.0)
        np.testing.assert_allclose(legendre(d, p, GRID), reference, atol=1e-12)
        assert legendre(d, p, np.array(1.0)) == pytest.approx(1, rel=1e-13)


def test_evaluation_is_stable_at_high_degree():
    values = legendre(10, 200, GRID)
    assert np.max(np.abs(values)) <= 1 + 1e-9
    np.testing.assert_allclose(values, eval_gegenbauer(200, 4, GRID) / eval_gegenbauer(200, 4, 1.0), atol=1e-10)
    assert values[[0, -1]] == pytest.approx(1, rel=1e-9)
