"""The random R_l: its size, and what it does to weak features."""

import numpy as np
import pytest
from bfc_plugins.algorithm_1.features import random_expansion

from bfc_bench.seeds import stream

KERNEL = np.diag([1.0, 0.2, 0.01])
FEED = np.linalg.qr(stream("feed").standard_normal((500, 3)))[0].T * np.sqrt(500)
"""E[feed feed^T] = I."""


def draw(floor, moment, rows=4000):
    return random_expansion(stream("R"), rows, KERNEL, FEED, floor, moment)


def test_entries_are_normal_numbers_with_a_floor_of_one():
    normal = stream("R").standard_normal((4000, 3))
    np.testing.assert_array_equal(draw(1.0, 1.0), normal * (draw(1.0, 1.0)[0, 0] / normal[0, 0]))


@pytest.mark.parametrize("floor", [0.0001, 0.04, 1.0])
def test_outputs_have_the_moment_asked_for(floor):
    r = draw(floor, 2.5)
    assert np.mean((r @ KERNEL @ FEED) ** 4) == pytest.approx(2.5)


def test_weak_features_are_raised_down_to_the_floor():
    """Features of deviation 1, .2 and .01 come out equal, but for the last, which is below the root of the floor."""
    sizes = np.sqrt(np.mean((draw(0.04, 1.0) @ KERNEL) ** 2, axis=0))
    np.testing.assert_allclose(sizes / sizes[0], [1.0, 1.0, 0.05], rtol=0.05)


def test_features_that_vanish_are_expanded():
    """Nothing is known of their size, so that R is its normal numbers."""
    r = random_expansion(stream("R"), 4, np.zeros((2, 3)), FEED, 0.04, 1.0)
    np.testing.assert_array_equal(r, stream("R").standard_normal((4, 2)))
