"""Compositional kernels of neural-tangents against the duals that are known in closed form."""

from math import pi, sqrt

import jax
import numpy as np
import pytest
import torch

from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.kernels.compositional import Compositional
from bfc_bench.toolkit.libraries import missing

pytestmark = pytest.mark.skipif((reason := missing({"jax", "neural-tangents"})) is not None, reason=str(reason))

X, Z = (torch.from_numpy(part) for part in np.random.default_rng(0).standard_normal((2, 9, 5)))


def dual(activation: str, xx, xz, zz):
    """E[s(u) s(v)] over E[s(t)^2], (u, v) of covariances xx, xz, zz and t of variance 1."""
    if activation == "quadratic":
        return (xx * zz + 2 * xz**2) / 3
    if activation == "sin":
        return np.exp(-(xx + zz) / 2) * np.sinh(xz) / (np.exp(-1) * np.sinh(1))
    if activation == "erf":
        return np.arcsin(2 * xz / np.sqrt((1 + 2 * xx) * (1 + 2 * zz))) / np.arcsin(2 / 3)
    rho = np.clip(xz / np.sqrt(xx * zz), -1, 1)
    if activation == "relu":
        return np.sqrt(xx * zz) * (np.sqrt(1 - rho**2) + (pi - np.arccos(rho)) * rho) / pi
    raise ValueError(activation)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("activation", ["relu", "erf", "quadratic", "sin"])
def test_closed_forms_agree(activation, depth):
    """To 1e-10, also on the diagonal."""
    gamma = 0.15
    kernel = make_kernel("compositional", gamma, depth=depth, activation=activation)
    both = torch.cat([X, Z]).numpy()
    expected = gamma * both @ both.T
    for _ in range(depth):
        variance = np.diag(expected)
        expected = dual(activation, variance[:, None], expected, variance[None, :])
    x, z = kernel.points(X), kernel.points(Z)
    assert np.allclose(kernel.gram(x), expected[:9, :9], rtol=1e-10, atol=1e-10)
    assert np.allclose(kernel.matrix(x, z), expected[:9, 9:], rtol=1e-10, atol=1e-10)
    assert np.allclose(kernel.diagonal(x), np.diag(expected)[:9], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("activation", ["relu", "erf", "gelu", "quadratic", "sin", "sigmoid"])
def test_one_at_a_point_of_typical_norm_and_positive_definite(activation):
    """A dual is a power series with weights >= 0, so that every composition of it is a kernel."""
    gamma = 0.1
    kernel = make_kernel("compositional", gamma, depth=2, activation=activation)
    unit = X / torch.linalg.vector_norm(X, dim=1, keepdim=True) / sqrt(gamma)
    gram = kernel.gram(kernel.points(unit))
    assert torch.allclose(gram.diagonal(), torch.ones(9, dtype=gram.dtype), rtol=0, atol=1e-12)
    assert torch.linalg.eigvalsh(gram)[0] > -1e-12


def test_gelu_against_simulation():
    rng = np.random.default_rng(1)
    kernel = Compositional(1.0, "gelu", 1)
    x = torch.tensor([[1.0, 0.0], [0.6, 0.8]], dtype=torch.float64)
    pre = rng.standard_normal((400_000, 2)) @ x.numpy().T
    values = np.asarray(jax.nn.gelu(pre, approximate=False))
    moments = values.T @ values / len(pre)
    expected = moments[0, 1] / moments[0, 0]
    assert float(kernel.matrix(kernel.points(x), kernel.points(x))[0, 1]) == pytest.approx(expected, abs=0.01)


def test_jax_stays_in_float32_for_everybody_else():
    kernel = make_kernel("compositional", 0.3)
    kernel.gram(kernel.points(X))
    assert jax.numpy.ones(1).dtype == np.float32
