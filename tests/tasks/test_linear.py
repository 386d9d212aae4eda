"""The target linear and the inputs gaussian-power-law: their moments."""

import numpy as np
import pytest

from bfc_bench.tasks.inputs.gaussian import Gaussian, GaussianPowerLaw
from bfc_bench.tasks.targets.linear import Linear

D, M = 12, 100_000


def law(a):
    return GaussianPowerLaw(a=a).law(np.random.default_rng(0), D)


@pytest.mark.parametrize(("a", "decay"), [(2.0, 0.0), (0.8, 1.0)])
def test_the_variance_of_the_target_is_the_same_for_all_teachers(a, decay):
    i = np.arange(1.0, D + 1)
    for seed in range(3):
        teacher = Linear(decay=decay).draw(np.random.default_rng(seed), law(a))
        values = teacher(law(a).sample(np.random.default_rng(9), M))
        assert np.var(values) == pytest.approx(np.sum(i ** -(a + 2 * decay)), rel=0.03)
        np.testing.assert_allclose(np.abs(teacher.w), i**-decay)


def test_the_prior_of_the_coefficients_is_isotropic_without_decay():
    rng, inputs = np.random.default_rng(0), Gaussian().law(np.random.default_rng(0), D)
    w = np.array([Linear().draw(rng, inputs).w for _ in range(20_000)])
    np.testing.assert_allclose(w.T @ w / len(w), np.eye(D), atol=5 * np.sqrt(2 / len(w)))
