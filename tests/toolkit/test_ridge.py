"""The curve solver against separate fits, and what it does with singular matrices."""

import numpy as np
import pytest
import torch
from sklearn.kernel_ridge import KernelRidge

from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.toolkit.ridge import RidgeCurve

SIZES = (1, 7, 50, 120)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    return rng.standard_normal((120, 4)), rng.standard_normal((120, 3)) + 5


def gram(x, mirror=True):
    kernel = make_kernel("rbf", 0.3)
    return kernel.gram(kernel.points(torch.from_numpy(x)), mirror=mirror)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 10.0])
def test_every_size_equals_a_separate_fit(sample, ridge, center):
    """Of scikit-learn, to 1e-8 of the largest coefficient, at every size and for several targets at once."""
    x, y = sample
    curve = RidgeCurve(gram(x, mirror=False))
    solution = curve.solve(torch.from_numpy(y), SIZES, ridge, center)
    for k, n in enumerate(SIZES):
        offset = y[:n].mean(0) if center else np.zeros(3)
        expected = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.3).fit(x[:n], y[:n] - offset).dual_coef_
        got = solution.weights[:n, k].numpy()
        assert np.abs(got - expected).max() <= 1e-8 * np.abs(expected).max() + 1e-12
        assert np.allclose(solution.offsets[k], offset, rtol=1e-14)
        assert not solution.weights[n:, k].any()


def test_one_matrix_serves_many_ridges_in_any_order(sample):
    x, y = sample
    curve = RidgeCurve(gram(x))
    first = curve.solve(torch.from_numpy(y), SIZES, 1e-3)
    curve.solve(torch.from_numpy(y), [50, 7], 1.0)
    again = curve.solve(torch.from_numpy(y), SIZES, 1e-3)
    assert torch.equal(first.weights, again.weights)


def test_repeated_points_need_jitter_only_where_they_occur(sample):
    x, y = sample
    x = x.copy()
    x[60] = x[59]
    solution = RidgeCurve(gram(x)).solve(torch.from_numpy(y), (50, 60, 61, 120), 0.0)
    assert solution.jitters[:2] == (0.0, 0.0)
    alone = RidgeCurve(gram(x[:50])).solve(torch.from_numpy(y[:50]), (50,), 0.0)
    assert torch.allclose(solution.weights[:50, 0], alone.weights[:, 0], rtol=1e-9, atol=1e-9)
    assert all(jitter is not None for jitter in solution.jitters)
    assert torch.isfinite(solution.weights).all()


@pytest.mark.parametrize("on_gpu", [False, True])
def test_sizes_without_a_factor_are_reported_and_the_others_solved(sample, on_gpu):
    x, y = sample
    kernel = gram(x)
    kernel[99, 99] = -1.0
    curve = RidgeCurve(kernel)
    curve._on_gpu = on_gpu
    solution = curve.solve(torch.from_numpy(y), (50, 99, 100, 120), 1e-3)
    assert solution.jitters == (0.0, 0.0, None, None)
    expected = RidgeCurve(gram(x)).solve(torch.from_numpy(y), (50, 99), 1e-3)
    assert torch.allclose(solution.weights[:, :2], expected.weights, rtol=1e-10, atol=1e-12)
    assert not solution.weights[:, 2:].any()
    assert float(kernel[99, 99]) == -1.0


def test_the_way_of_a_gpu_gives_the_same_and_leaves_the_matrix(sample):
    """Declared: the tensors lie in the host's memory, where the same calls of torch do the same."""
    x, y = sample
    kernel = gram(x, mirror=False).tril()
    before, curve = kernel.clone(), RidgeCurve(kernel)
    curve._on_gpu = True
    found = curve.solve(torch.from_numpy(y), SIZES, 1e-3)
    assert torch.equal(kernel, before)
    expected = RidgeCurve(gram(x)).solve(torch.from_numpy(y), SIZES, 1e-3)
    assert torch.allclose(found.weights, expected.weights, rtol=1e-9, atol=1e-10)
    assert found.jitters == expected.jitters
