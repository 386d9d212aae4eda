"""The polynomial kernel's gradients, and ridge regression with leave-one-out errors."""

import pytest
import torch
from bfc_plugins.kernels.leave_one_out import ridge_fit
from bfc_plugins.kernels.polynomial import Poly
from fit_samples import normal

KERNELS = [Poly(3), Poly(4, 5.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_are_those_of_central_differences(kernel):
    u, v, weights, step = normal(7, 5, seed=0), normal(9, 5, seed=1), normal(9, 5, seed=2)[:, 0], 1e-5
    expected = torch.zeros_like(u)
    for k in range(5):
        shift = step * torch.eye(5, dtype=torch.float64)[k]
        expected[:, k] = ((kernel.matrix(u + shift, v) - kernel.matrix(u - shift, v)) * weights).sum(1) / (2 * step)
    assert torch.allclose(kernel.gradients(u, v, weights), expected, rtol=0, atol=1e-8 * float(expected.abs().max()))


def test_leave_one_out_errors_are_those_of_fits_without_each_point():
    z = normal(12, 5, seed=0)
    y, kernel = z[:, 0] ** 2 + normal(12, 5, seed=4)[:, 1], Poly(3, 5.0).matrix(z, z)
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
    z = normal(30, 5, seed=0)
    kernel, noise = Poly(3, 5.0).matrix(z, z), normal(30, 5, seed=5)[:, 0]
    errors = {ridge: ridge_fit(kernel, noise, [ridge]).error for ridge in (1e-6, 1e-2, 10.0)}
    assert ridge_fit(kernel, noise, list(errors)).ridge == min(errors, key=errors.get)
    assert ridge_fit(-kernel, noise, [1e-6, 100.0]).ridge == 100.0
    assert ridge_fit(-kernel, noise, [1e-6]).error == float("inf")
