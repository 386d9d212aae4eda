"""Spectra of kernels on the sphere: the trace, closed forms, and what rounding hides."""

from math import comb, factorial, prod

import numpy as np
import pytest
from scipy.special import ive

from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.kernels.closed_forms import Polynomial, Rbf
from bfc_bench.toolkit.kernels.spectrum import profile, sphere_spectrum

DIMS = (2, 3, 5, 10, 40)


def moment(d, j):
    """E t^j for t = <x, z> on S^{d-1}: (j-1)!! / (d (d+2) ... (d+j-2)), 0 for odd j."""
    return 0.0 if j % 2 else prod(range(1, j, 2)) / prod(range(d, d + j - 1, 2))


def power_eigenvalue(d, j, k):
    """lambda_k of the kernel t^j: E t^j P_k by the Rodrigues formula, j! / ((j-k)! d (d+2)...) E' t^(j-k) (Mueller)."""
    if k > j or (j - k) % 2:
        return 0.0
    lowered = factorial(j) / factorial(j - k) / prod((d - 1 + 2 * i for i in range(k)), start=1.0)
    # E[(1-t^2)^k t^(j-k)] under the law of t in dimension d is its value in dimension d + 2k times E (1-t^2)^k.
    mass = prod(((d - 1 + 2 * i) / (d + 2 * i) for i in range(k)), start=1.0)
    return lowered * mass * moment(d + 2 * k, j - k)


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize(
    "kernel",
    [
        Rbf(1.0),
        Rbf(0.03),
        Polynomial(1.0, 3),
        make_kernel("ntk", 1.0),
        make_kernel("nngp", 1.0, depth=3, bias_variance=0.5),
    ],
    ids=str,
)
def test_eigenvalues_and_tail_add_up_to_the_trace(kernel, d):
    spectrum = sphere_spectrum(kernel, d)
    trace = spectrum.multiplicities @ spectrum.eigenvalues + spectrum.tail
    assert trace == pytest.approx(profile(kernel, np.ones(1))[0], rel=1e-12)
    assert (spectrum.eigenvalues >= 0).all()
    assert spectrum.tail >= 0


@pytest.mark.parametrize("d", DIMS)
@pytest.mark.parametrize("degree", [1, 2, 4])
def test_polynomial_kernels_have_their_closed_form(d, degree):
    """((1 + t) / 2)^degree by powers of t."""
    expected = np.zeros(41)
    for j in range(degree + 1):
        expected += comb(degree, j) / 2**degree * np.array([power_eigenvalue(d, j, k) for k in range(41)])
    found = sphere_spectrum(Polynomial(1.0, degree), d)
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-10, atol=1e-14)
    assert found.tail == pytest.approx(0, abs=1e-11)


@pytest.mark.parametrize("gamma", [0.1, 1.0])
def test_rbf_on_the_sphere_in_three_dimensions_is_a_bessel_function(gamma):
    """exp(-2 gamma (1 - t)): lambda_k = sqrt(pi / (4 gamma)) e^{-2 gamma} I_{k+1/2}(2 gamma)."""
    found = sphere_spectrum(Rbf(gamma), 3).eigenvalues
    expected = np.sqrt(np.pi / (4 * gamma)) * ive(np.arange(41) + 0.5, 2 * gamma)
    seen = expected > 1e-12
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-2)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_degrees_that_rounding_hides_are_tail_not_noise():
    """B(40, 40) is 2e22: an error of 1e-17 in an eigenvalue would count 1e5 times the trace."""
    spectrum = sphere_spectrum(make_kernel("ntk", 1.0), 40)
    assert spectrum.multiplicities[-1] > 1e20
    assert spectrum.eigenvalues[-1] == 0
    assert 0 < spectrum.tail < 0.1
