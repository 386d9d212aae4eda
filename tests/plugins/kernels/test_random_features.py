"""Random features: kernels in the limit, one answer in the primal and the dual, spans, and prefixes."""

import numpy as np
import pytest
import torch
from bfc_plugins.kernels.kernel_ridge import KernelRidge
from bfc_plugins.kernels.random_features import RandomFeatures
from fit_samples import cube_sample, on_sphere, sphere_facts

from bfc_bench.learner import Context, Data
from bfc_bench.toolkit.feature_maps import make_map
from bfc_bench.toolkit.function_space import solve_primal
from bfc_bench.toolkit.kernels.by_name import make_kernel
from bfc_bench.utils.legendre import zonal

LAW = Context(square_mean=np.ones(4))
MAPS = ("fourier", "relu", "polynomial")
KERNELS = {"fourier": "rbf", "relu": "nngp", "polynomial": "poly"}


@pytest.mark.parametrize("name", MAPS)
def test_products_of_features_are_unbiased_for_the_kernel(name):
    """Within five standard errors of the mean over features, at rate D^-1/2."""
    z = cube_sample(8).x
    kernel = make_kernel(KERNELS[name], 0.2, degree=2)
    exact = kernel.gram(kernel.points(z))
    for features in (500, 16_000):
        phi = make_map(name, features, 4, 0.2, degree=2, seed=3, like=z)(z)
        terms = features * phi.unsqueeze(1) * phi.unsqueeze(0)
        error = terms.std(2) / features**0.5
        assert ((terms.mean(2) - exact).abs() <= 5 * error + 1e-12).all()
        assert error.mean() < 4 * features**-0.5


@pytest.mark.parametrize("name", MAPS)
def test_predictions_tend_to_kernel_ridge(name):
    """Root mean square distance to the kernel's predictions falls by about 8 when D grows by 64."""
    data, test = cube_sample(50), cube_sample(50, seed=1).x
    options = {"ridge": 0.1, "gamma": 0.5}
    exact = KernelRidge(kernel=KERNELS[name], **options).fit(data, LAW).predict(test)

    def distance(features):
        seeds = [Context(seed=seed, square_mean=LAW.square_mean) for seed in range(3)]
        fits = [RandomFeatures(map=name, features=features, **options).fit(data, ctx) for ctx in seeds]
        return float(torch.stack([fit.predict(test) - exact for fit in fits]).square().mean().sqrt())

    few, many = distance(128), distance(8192)
    assert many < few / 4
    assert many < 0.1 * exact.std()


@pytest.mark.parametrize("n", [3, 5, 40])
@pytest.mark.parametrize("center", [False, True])
def test_without_a_ridge_directions_that_are_zero_up_to_rounding_are_left_out(n, center):
    """The solution of least norm, as NumPy's ``lstsq`` gives it; over rounding its weights would be of any size."""
    rng = np.random.default_rng(0)
    phi = torch.from_numpy(rng.standard_normal((40, 4)))
    phi = torch.cat([phi, phi[:, :2] - phi[:, 2:], 10 * phi[:, :1]], dim=1)  # 7 features of rank 4
    y = torch.from_numpy(rng.standard_normal((40, 2)))
    solved = solve_primal(phi, y, {0.0: [n]}, center)
    target = (y[:n] - y[:n].mean(0) if center else y[:n]).numpy()
    expected = np.linalg.lstsq(phi[:n].numpy(), target, rcond=1e-6)[0]
    np.testing.assert_allclose(solved[0.0, n], expected, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "missing"),
    [({"map": "relu"}, {3, 5}), ({"map": "fourier"}, set()), ({"map": "polynomial", "degree": 3}, {4, 5})],
    ids=str,
)
def test_degrees_that_no_feature_has_are_a_caution_and_are_not_learned(options, missing):
    """On the sphere in 3 dimensions, where 600 points and 300 features are many."""
    x = on_sphere(1600, 3)
    ctx = Context(square_mean=np.full(3, 1 / 3))
    learner = RandomFeatures(features=300, ridge=1e-6, with_squares=False, **options)
    for k in range(1, 6):
        y = zonal(3, k, x[:, 0].numpy())
        facts = sphere_facts(k, d=3)
        train = Data(sample=f"s{k}", n=600, d=3, x=x[:600], y=torch.from_numpy(y[:600]))
        error = np.mean((learner.fit(train, ctx).predict(x[600:]).numpy() - y[600:]) ** 2) / np.var(y[600:])
        assert (f"no part of degree {k}" in (learner.caution(facts, 600) or "")) == (k in missing), k
        assert (error > 0.9) == (k in missing), (k, error)
        assert RandomFeatures(**options).caution(facts, 600) is None, "with squares"
