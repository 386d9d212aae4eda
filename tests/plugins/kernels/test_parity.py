"""Degrees that a kernel lacks on the sphere: those whose eigenvalue is 0, and no other."""

import numpy as np
import pytest
from bfc_plugins.kernels.parity import missing_degrees
from scipy.special import eval_gegenbauer, roots_jacobi

D = 8
DEGREES = range(1, 7)


def relu_tangent(t):
    """NTK of a ReLU network with one hidden layer without bias, up to a factor (Bietti & Mairal 2019)."""
    angle = np.pi - np.arccos(t)
    return (2 * t * angle + np.sqrt((1 - t) * (1 + t))) / (2 * np.pi)


PROFILES = {
    "relu tangent": (relu_tangent, {3, 5}),
    "linear": (lambda t: t, {2, 3, 4, 5, 6}),
    "square": (lambda t: (1 + t) ** 2, {3, 4, 5, 6}),
    "cube": (lambda t: t**3, {2, 4, 5, 6}),
    "arcsine": (lambda t: np.arcsin(t / 2), {2, 4, 6}),
    "narrow rbf": (lambda t: np.exp(2 * (t - 1)), set()),
}


def eigenvalue(profile, k):
    """Of degree k on S^{D-1}, over the mean of |profile|, by Gauss-Jacobi quadrature."""
    t, w = roots_jacobi(400, (D - 3) / 2, (D - 3) / 2)
    zonal = eval_gegenbauer(k, (D - 2) / 2, t) / eval_gegenbauer(k, (D - 2) / 2, 1.0)
    return w @ (profile(t) * zonal) / (w @ np.abs(profile(t)))


@pytest.mark.parametrize("name", PROFILES)
def test_missing_degrees_are_those_of_eigenvalue_zero(name):
    profile, missing = PROFILES[name]
    found = missing_degrees(profile)
    assert found & set(DEGREES) == missing
    for k in DEGREES:
        assert (abs(eigenvalue(profile, k)) < 1e-9) == (k in missing)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_scale_of_a_kernel_does_not_matter(name, scale):
    profile, _ = PROFILES[name]
    assert missing_degrees(lambda t: scale * profile(t)) == missing_degrees(profile)


@pytest.mark.parametrize("gamma", [0.01, 0.03, 0.3, 1.0, 10.0])
def test_a_decay_below_rounding_is_no_gap(gamma):
    assert missing_degrees(lambda t: np.exp(2 * gamma * (t - 1))) == set()
