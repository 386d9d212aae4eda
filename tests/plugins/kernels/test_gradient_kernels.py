"""Kernels with gradients: values where they are known, and gradients against central differences."""

import pytest
import torch
from bfc_plugins.kernels.gradient_kernels import Gauss, Laplace, Poly, make_gradient_kernel
from bfc_plugins.kernels.leave_one_out import ridge_fit

KERNELS = [Poly(3, 0.7), Poly(4, 1.0, 5.0), Gauss(0.3), Laplace(0.5)]


def points(count: int, seed: int) -> torch.Tensor:
    return torch.randn(count, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("own", [False, True], ids=["shared weights", "weights of each point"])
def test_gradients_are_those_of_central_differences(kernel, own):
    u, v, step = points(7, 0), points(9, 1), 1e-5
    weights = points(9, 2)[:, 0] if not own else torch.cat([points(7, 2), points(7, 3)], 1)[:, :9]
    expected = torch.zeros_like(u)
    for k in range(5):
        shift = step * torch.eye(5, dtype=torch.float64)[k]
        expected[:, k] = ((kernel.matrix(u + shift, v) - kernel.matrix(u - shift, v)) * weights).sum(1) / (2 * step)
    assert torch.allclose(kernel.gradients(u, v, weights), expected, rtol=0, atol=1e-8 * float(expected.abs().max()))


@pytest.mark.parametrize("name", ["poly", "rbf", "laplace"])
def test_points_of_norm_one_have_value_one(name):
    u = torch.nn.functional.normalize(points(4, 0))
    kernel = make_gradient_kernel(name, 0.4, 4)
    assert torch.allclose(kernel.matrix(u, u).diagonal(), torch.ones(4, dtype=torch.float64))


def test_a_centre_has_no_laplace_gradient_of_its_own():
    u = points(3, 0)
    ones = torch.ones(3, dtype=torch.float64)
    found = Laplace().gradients(u, u, ones)
    assert found.isfinite().all()
    assert torch.allclose(found[:1], Laplace().gradients(u[:1], u[1:], ones[1:]))


def test_leave_one_out_errors_are_those_of_fits_without_each_point():
    z = points(12, 0)
    y, kernel = z[:, 0] ** 2 + points(12, 4)[:, 1], Gauss(0.2).matrix(z, z)
    for ridge in (1e-3, 1.0):
        left_out = []
        for i in range(12):
            kept = [j for j in range(12) if j != i]
            system = kernel[kept][:, kept] + ridge * torch.eye(11, dtype=y.dtype)
            left_out.append(float(kernel[i, kept] @ torch.linalg.solve(system, y[kept]) - y[i]))
        fit = ridge_fit(kernel, y, [ridge])
        assert fit.error == pytest.approx(sum(e * e for e in left_out) / 12, rel=1e-9)
        residual = (kernel + ridge * torch.eye(12, dtype=y.dtype)) @ fit.weights - y
        assert residual.abs().max() < 1e-10


def test_the_ridge_of_least_leave_one_out_error_is_chosen_and_indefinite_systems_are_passed_over():
    z = points(30, 0)
    kernel, noise = Gauss(0.2).matrix(z, z), points(30, 5)[:, 0]
    errors = {ridge: ridge_fit(kernel, noise, [ridge]).error for ridge in (1e-6, 1e-2, 10.0)}
    assert ridge_fit(kernel, noise, list(errors)).ridge == min(errors, key=errors.get)
    assert ridge_fit(-kernel, noise, [1e-6, 100.0]).ridge == 100.0
    assert ridge_fit(-kernel, noise, [1e-6]).error == float("inf")
