"""Closed forms of arc-cosine kernels against integrals, samples, limits and invariants."""

from math import pi

import numpy as np
import pytest
import torch
from relu_networks import nngp, ntk
from scipy.integrate import quad

from bfc_bench.toolkit.kernels.arccos import k0, k1

RHOS = np.array([-1.0, -0.9, -0.3, 0.0, 0.4, 0.99, 1.0])


def at(kernel, rho):
    return kernel(torch.as_tensor(rho)).numpy()


def points(n, d, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(0.2, 2, n)[:, None])


@pytest.mark.parametrize(("kernel", "radial"), [(k0, 1.0), (k1, 2.0)])
def test_angular_integral(kernel, radial):
    """In polar coordinates the radius integrates to 1 and E r^2 = 2, the angle is left."""
    power = {k0: 0, k1: 1}[kernel]
    for rho in RHOS:
        theta = np.arccos(rho)
        # Both gates are open on an arc of length pi - theta.
        value, _ = quad(lambda a, t=theta: (np.cos(a) * np.cos(a - t)) ** power, theta - pi / 2, pi / 2, epsabs=1e-13)
        assert at(kernel, rho) == pytest.approx(radial * value / (2 * pi), abs=1e-12)


@pytest.mark.parametrize("kernel", [k0, k1])
def test_ends_and_rounding_beyond_them(kernel):
    ends = np.array([-1 - 1e-15, -1.0, 1.0, 1 + 1e-15])
    assert at(kernel, ends).tolist() == [0.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_textbook_recursion(depth, bias):
    """Jacot et al. 2018: layer by layer, with full covariance matrices and no shortcut."""
    x = points(7, 5)
    covariance = 2 * x @ x.T / 5 + bias
    tangent = covariance.clone()
    for layer in range(depth):
        sd = covariance.diagonal().sqrt()
        rho = covariance / torch.outer(sd, sd)
        weight = 1 if layer == depth - 1 else 2
        covariance = weight * torch.outer(sd, sd) * k1(rho) + bias
        tangent = covariance + weight * tangent * k0(rho)
    # The recursion itself loses half the digits where rho = 1.
    assert torch.allclose(nngp(x, depth=depth, bias_variance=bias), covariance, rtol=1e-13, atol=0)
    assert torch.allclose(ntk(x, depth=depth, bias_variance=bias), tangent, rtol=1e-7, atol=0)
    off = ~torch.eye(7, dtype=torch.bool)
    assert torch.allclose(ntk(x, depth=depth, bias_variance=bias)[off], tangent[off], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", [nngp, ntk])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_diagonal_is_exact(kernel, depth):
    x = points(20, 30)
    expected = (x**2).mean(1) * (depth + 1 if kernel is ntk else 1)
    assert torch.allclose(kernel(x, depth=depth).diagonal(), expected, rtol=1e-15, atol=0)
    # Also between two arrays that hold the same points, where acos would cost eight digits.
    assert torch.allclose(kernel(x, x.clone(), depth=depth).diagonal(), expected, rtol=1e-14, atol=0)
