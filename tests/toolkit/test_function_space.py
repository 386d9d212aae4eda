"""Ridge regressions in spaces of functions, against the normal equations."""

from itertools import product

import numpy as np
import pytest
import torch

from bfc_bench.toolkit.feature_maps import make_map
from bfc_bench.toolkit.function_space import CHUNK, FeatureSpace, KernelSpace
from bfc_bench.toolkit.kernels.by_name import make_kernel

FEATURES = 12
WANTED = {1e-3: [1, 7, 12, 13, 40], 0.5: [12, 40]}
"""Sizes below, at and above the number of features."""


def sample(n=40):
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.standard_normal((n, 3))), torch.from_numpy(rng.standard_normal((n, 2)) + 4)


def halved(x):
    return x / 2


CASES = pytest.mark.parametrize(("columns", "center", "transform"), [*product([1, 2], [True, False], [None, halved])])


@CASES
def test_features_of_every_size_solve_the_normal_equations(columns, center, transform):
    x, y = sample()
    y = y if columns == 2 else y[:, 0]
    space = FeatureSpace(make_map("fourier", FEATURES, 3, 0.5, seed=0, like=x), transform)
    phi = space.map(halved(x) if transform else x)
    solved = space.solve(x, y, WANTED, center)
    assert {(ridge, n) for ridge, sizes in WANTED.items() for n in sizes} == solved.keys()
    for (ridge, n), solution in solved.items():
        offset = y[:n].mean(0) if center else torch.zeros(y.shape[1:])
        residual = y[:n] - offset - phi[:n] @ solution.weights
        torch.testing.assert_close(phi[:n].T @ residual, ridge * solution.weights, atol=1e-9, rtol=1e-9)
        assert torch.equal(solution.offset, offset.double())
        assert solution.info == {"solved": "dual" if n <= FEATURES else "primal"}
        values = space.evaluate(x[:9], solution.weights.reshape(FEATURES, -1))
        torch.testing.assert_close(values, phi[:9] @ solution.weights.reshape(FEATURES, -1))


@CASES
def test_kernel_functions_of_every_size_solve_the_normal_equations(columns, center, transform):
    x, y = sample()
    y = y if columns == 2 else y[:, 0]
    space = KernelSpace.on(x, make_kernel("rbf", 0.5), transform, fact=1)
    gram = space.kernel.gram(space.kernel.points(halved(x) if transform else x))
    for (ridge, n), solution in space.solve(x, y, WANTED, center).items():
        offset = y[:n].mean(0) if center else torch.zeros(y.shape[1:])
        residual = y[:n] - offset - gram[:n, :n] @ solution.weights
        torch.testing.assert_close(residual, ridge * solution.weights, atol=1e-8, rtol=1e-8)
        torch.testing.assert_close(solution.offset, offset.double())
        values = space.evaluate(x[:9], solution.weights.reshape(n, -1))
        torch.testing.assert_close(values, gram[:9, :n] @ solution.weights.reshape(n, -1))
    assert space.info == {"fact": 1}


def test_predictions_at_many_points_are_those_at_each():
    x, _ = sample(CHUNK + 5)
    space = FeatureSpace(make_map("relu", FEATURES, 3, 0.5, seed=0, like=x))
    weights = torch.arange(2.0 * FEATURES, dtype=x.dtype).reshape(FEATURES, 2)
    torch.testing.assert_close(space.evaluate(x, weights), space.map(x) @ weights)
