"""The losses of labels in the units of training."""

import numpy as np
import pytest
from bfc_plugins.algorithm_1.labels import binary, half_curvature, real


def test_half_the_curvature_of_the_cross_entropy_is_its_second_difference():
    z, h = np.linspace(-6.0, 6.0, 25), 1e-3
    loss = [np.logaddexp(0.0, -(z + step)) for step in (-h, 0.0, h)]
    np.testing.assert_allclose(2.0 * half_curvature(z), (loss[0] - 2.0 * loss[1] + loss[2]) / h**2, rtol=1e-4)


def test_margins_however_large_keep_a_curvature():
    assert (half_curvature(np.array([-1e6, 0.0, 1e6])) > 0).all()


def test_what_has_learned_nothing_is_the_start_or_knows_nothing():
    rng = np.random.default_rng(0)
    y, x = np.sign(rng.standard_normal(300)), rng.standard_normal(300)
    assert binary(y, 50.0, 0.0 * x).untrained == pytest.approx(np.log(2.0) / 50.0)
    assert binary(y, 50.0, x).untrained == pytest.approx(np.mean(np.log1p(np.exp(-50.0 * y * x))) / 50.0)
    assert binary(y, 50.0, y).untrained == pytest.approx(np.log(2.0) / 50.0)


@pytest.mark.parametrize("shift", [0.0, 7.0])
def test_what_has_learned_nothing_has_the_loss_of_zero_or_of_the_best_constant(shift):
    y = shift + np.random.default_rng(0).standard_normal(300)
    labels = real(y, "square")
    assert labels.untrained == pytest.approx(max(np.mean(y**2) / np.var(y), 1.0))
