"""Recursive feature machines: the first round is a kernel, and the metric finds the direction of a target."""

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.recursive_kernel import RecursiveKernel

from bfc_bench.errors import BenchError
from bfc_bench.learner import Context, Data

D = 10


def points(n, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (n, D))


def fitted(y, x, **options):
    return RecursiveKernel(**options).fit(
        Data(sample="s", n=len(x), d=D, x=torch.tensor(x), y=torch.tensor(y)), Context(square_mean=np.full(D, 1 / 3))
    )


def test_the_first_round_is_ridge_regression_with_the_kernel_of_scaled_inputs():
    x = points(40)
    y = x[:, 0] + x[:, 1] ** 2
    z = np.hstack([x, x**2 - 1 / 3])
    z /= np.sqrt((z**2).sum(1).mean())
    kernel = ((1 + z @ z.T) / 2) ** 2
    expected = kernel @ np.linalg.solve(kernel + 0.1 * np.eye(40), y - y.mean()) + y.mean()
    one = fitted(y, x, degree=2, ridges=[0.1], rounds=1)
    np.testing.assert_allclose(one.predict(torch.tensor(x)).numpy(), expected, rtol=1e-9)
    assert one.info == {"round": 1, "ridge": 0.1}


def test_the_metric_finds_the_direction_of_a_target_and_lowers_the_error():
    direction = np.linspace(1, 2, D) / np.linalg.norm(np.linspace(1, 2, D))
    x, test = points(150), points(500, 1)
    y, truth = (x @ direction) ** 4 + x @ direction, (test @ direction) ** 4 + test @ direction
    learned, plain = fitted(y, x), fitted(y, x, rounds=1)
    errors = [
        np.mean((each.predict(torch.tensor(test)).numpy() - truth) ** 2) / np.var(truth) for each in (learned, plain)
    ]
    assert learned.info["round"] > 1
    assert errors[0] < 0.01 * errors[1]
    assert abs(np.linalg.eigh(learned.root.numpy()[:D, :D])[1][:, -1] @ direction) > 0.999


def test_a_kernel_matrix_that_is_not_positive_definite_is_said():
    with pytest.raises(BenchError, match=r"recursive-kernel: .* at n = 20 none is in float64"):
        fitted(np.ones(20), np.zeros((20, D)), ridges=[0.0])
