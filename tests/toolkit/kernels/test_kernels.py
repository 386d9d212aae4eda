"""Kernel matrices: tiles against formulas, the common scale, and what the curve solver relies on."""

import pytest
import torch
from fit_samples import normal
from relu_networks import nngp, ntk

from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.utils.legendre import harmonics_dimension, legendre

NAMES = ("rbf", "laplace", "poly", "harmonic", "ntk", "nngp")


def direct(name, x, z, gamma):
    if name == "rbf":
        return torch.exp(-gamma * ((x[:, None] - z[None]) ** 2).sum(2))
    if name == "poly":
        return ((1 + gamma * (x @ z.T)) / 2) ** 3
    if name == "laplace":
        return torch.exp(-(gamma**0.5) * (x[:, None] - z[None]).norm(dim=2))
    if name == "harmonic":
        norms = torch.outer(x.norm(dim=1), z.norm(dim=1))
        return (gamma * norms) ** 3 * torch.from_numpy(legendre(x.shape[1], 3, (x @ z.T / norms).numpy()))
    scale = (gamma * x.shape[1]) ** 0.5
    return nngp(scale * x, scale * z, 2) if name == "nngp" else ntk(scale * x, scale * z, 2) / 3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 3), (256, 256), (257, 511), (600, 300)])
def test_tiles_equal_the_formula(name, m, n):
    """At sizes below, at and across the edges of tiles."""
    x, z = normal(m, 7), normal(n, 7, seed=1)
    kernel = make_kernel(name, 0.1, depth=2, degree=3, dimension=7)
    assert torch.allclose(
        kernel.matrix(kernel.points(x), kernel.points(z)), direct(name, x, z, 0.1), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("name", NAMES)
def test_gram(name):
    x = normal(530, 6)
    kernel = make_kernel(name, 0.2, depth=2, degree=3, bias_variance=0.3, dimension=6)
    prepared = kernel.points(x)
    gram = kernel.gram(prepared)
    assert gram.dtype == torch.float64
    assert torch.allclose(gram, gram.T, rtol=1e-13, atol=1e-15)
    assert torch.allclose(gram, kernel.matrix(prepared, prepared), rtol=1e-13, atol=1e-14)
    assert torch.equal(gram.tril(), kernel.gram(prepared, mirror=False).tril())
    assert torch.linalg.eigvalsh(gram)[0] > -1e-11


@pytest.mark.parametrize("name", NAMES)
def test_matmul_equals_matrix_times_weights(name):
    x, z, weights = normal(300, 4), normal(700, 4, seed=1), normal(700, 3, seed=2)
    kernel = make_kernel(name, 0.2, dimension=4)
    x, z = kernel.points(x), kernel.points(z)
    assert torch.allclose(kernel.matmul(x, z, weights), kernel.matrix(x, z) @ weights, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("bias_variance", [0.0, 0.5])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_one_at_a_point_of_unit_norm(name, depth, bias_variance):
    """The scale in which a ridge is absolute."""
    x = normal(10, 5)
    x = x / x.norm(dim=1, keepdim=True) / 0.3**0.5
    kernel = make_kernel(name, 0.3, depth=depth, degree=4, bias_variance=bias_variance, dimension=5)
    assert torch.allclose(kernel.gram(kernel.points(x)).diagonal(), torch.ones(10).double(), rtol=1e-14, atol=0)


@pytest.mark.parametrize("degree", [0, 1, 2, 4, 5])
@pytest.mark.parametrize("d", [2, 3, 6])
def test_the_harmonic_kernel_has_the_harmonics_of_one_degree_alone(d, degree):
    """Its matrix has rank B(d, p), and its functions are harmonic and homogeneous, off the sphere as well."""
    x = normal(300, d)
    kernel = make_kernel("harmonic", 1.0, degree=degree, dimension=d)
    size = harmonics_dimension(d, degree)
    eigenvalues = torch.linalg.eigvalsh(kernel.gram(kernel.points(x)))
    assert eigenvalues[-size] > 1e-10 * eigenvalues[-1]
    assert eigenvalues[: 300 - size].abs().max() < 1e-12 * eigenvalues[-1]

    def value(u):
        return kernel.matrix(kernel.points(u), kernel.points(x))

    u, step = normal(5, d, seed=1), 1e-3
    laplacian = sum(value(u + step * e) + value(u - step * e) - 2 * value(u) for e in torch.eye(d).double())
    assert (laplacian / step**2).abs().max() < 1e-4 * value(u).abs().max()
    torch.testing.assert_close(value(2 * u), 2**degree * value(u))
    zero = kernel.matrix(kernel.points(torch.zeros(1, d).double()), kernel.points(u))
    torch.testing.assert_close(zero, torch.full_like(zero, float(degree == 0)))
