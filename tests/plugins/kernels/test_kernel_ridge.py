"""Kernel ridge regression: one answer however jobs are batched, and learning curves no kernel can beat."""

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from fit_samples import cube_sample, on_sphere, sphere_facts

from bfc_bench.learner import Context, Data
from bfc_bench.utils.legendre import zonal

LAW = Context(square_mean=np.ones(4))


@pytest.mark.parametrize("center", [True, False])
def test_the_weighted_loss_has_the_normal_equations_of_weighted_squares(center):
    """In the features of a kernel of degree 1: a ridge on the weights, none on the offset if it is the mean."""
    data, test, ridge = cube_sample(), cube_sample(30, seed=1).x, 0.3
    learner = KernelRidge(
        kernel="poly", degree=1, gamma=1.0, with_squares=False, loss="weighted", ridge=ridge, center=center
    )
    y = data.y
    scale = float(np.quantile(np.abs(y.numpy() - np.median(y.numpy())), 0.9))
    weights = 1 / (1 + (y / scale) ** 2)
    offset = (weights * y).sum() / weights.sum() if center else 0.0

    def features(x):  # (1 + gamma <x, z>) / 2, gamma = 1 / 4 for four inputs of mean square 1
        return torch.cat([x / 2, torch.ones(len(x), 1, dtype=x.dtype)], dim=1) / 2**0.5

    phi = features(data.x)
    gram = phi.T @ (weights[:, None] * phi) + ridge * torch.eye(5, dtype=phi.dtype)
    expected = features(test) @ torch.linalg.solve(gram, phi.T @ (weights * (y - offset))) + offset
    torch.testing.assert_close(learner.fit(data, LAW).predict(test), expected, rtol=1e-9, atol=1e-9)


def test_weights_need_another_matrix():
    plain, weighted = (KernelRidge(loss=loss).cost(1000, 5).bytes for loss in ("square", "weighted"))
    assert weighted - plain == 8 * 1000**2


def test_the_kernel_of_the_exact_degree_learns_it_from_as_many_points_as_it_has_harmonics():
    """At B(d, p) points and a small ridge the fit is exact, and a target of another degree is not learned at all."""
    d, degree = 5, 3
    x = on_sphere(400, d)
    law = Context(square_mean=np.full(d, 1 / d))
    learner = KernelRidge(kernel="harmonic", degree=degree, ridge=1e-10, with_squares=False, center=False, gamma=1.0)
    for other, learned in ((3, True), (4, False)):
        y = torch.from_numpy(zonal(d, other, x[:, 0].numpy()))
        train = Data(sample="s", n=60, d=d, x=x[:60], y=y[:60])
        error = (learner.fit(train, law).predict(x[60:]) - y[60:]).square().mean() / y[60:].square().mean()
        assert (error < 1e-6) == learned


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU")
@pytest.mark.parametrize("loss", ["square", "weighted"])
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "poly", "harmonic", "ntk", "nngp"])
def test_cuda_equals_cpu(kernel, loss):
    data, test = cube_sample(), cube_sample(300, seed=1).x
    learner = KernelRidge(kernel=kernel, loss=loss, depth=2, ridge=1e-3)
    moved = Data(sample="s", n=90, d=4, x=data.x.cuda(), y=data.y.cuda())
    values = learner.fit(moved, Context(square_mean=np.ones(4), device="cuda")).predict(test.cuda())
    assert torch.allclose(values.cpu(), learner.fit(data, LAW).predict(test), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"kernel": "ntk"}, {3, 5}),
        ({"kernel": "nngp"}, {3, 5}),
        ({"kernel": "ntk", "bias_variance": 0.1}, set()),
        ({"kernel": "ntk", "depth": 2}, set()),
        ({"kernel": "rbf", "gamma": 0.03}, set()),
        ({"kernel": "poly", "degree": 3}, {4, 5}),
    ],
    ids=str,
)
def test_degrees_that_a_kernel_lacks_are_a_caution(options, missing):
    for k in range(1, 6):
        raw = KernelRidge(with_squares=False, ridge=1e-6, **options).caution(sphere_facts(k, d=8), 100) or ""
        assert (f"no part of degree {k}" in raw) == (k in missing), k
        assert KernelRidge(**options).caution(sphere_facts(k, d=8), 100) is None  # with squares
    assert KernelRidge(with_squares=False, **options).caution(sphere_facts(d=8), 100) is None  # off the sphere
