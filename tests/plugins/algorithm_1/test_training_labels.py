"""The losses of labels in the units of training."""

from __future__ import annotations

import numpy as np
from bfc_plugins.algorithm_1.labels import half_curvature


def test_half_the_curvature_of_the_cross_entropy_is_its_second_difference():
    z, h = np.linspace(-6.0, 6.0, 25), 1e-3
    loss = [np.logaddexp(0.0, -(z + step)) for step in (-h, 0.0, h)]
    np.testing.assert_allclose(2.0 * half_curvature(z), (loss[0] - 2.0 * loss[1] + loss[2]) / h**2, rtol=1e-4)


def test_margins_however_large_keep_a_curvature():
    assert (half_curvature(np.array([-1e6, 0.0, 1e6])) > 0).all()
