"""What a feature is worth: closed forms on designs whose moments are exact."""

from itertools import product

import numpy as np
import pytest
from bfc_plugins.algorithm_1.distill import worths

from bfc_bench.seeds import stream

SIGNS = np.array(list(product([-1.0, 1.0], repeat=7))).T
"""All (7, 128) points of a hypercube: E[z z^T] = I, and products of different coordinates have variance 1."""
LAST = np.arange(7) >= 4
LEVELS = np.sqrt(1.5) * np.array(list(product([-1.0, 0.0, 1.0], repeat=4))).T
"""Points (4, 81) with E[z z^T] = I and Var z_i^2 = 1/2."""


def mixed(values):
    """W (k, 7) whose mixed matrix has these singular values, on the axes."""
    w = np.zeros((len(values), 7))
    for i, s in enumerate(values):
        w[i, i], w[i, 4 + i] = np.sqrt(s), np.sqrt(s)
    return w


def test_mixed_features_are_worth_four_times_their_squared_singular_values():
    found = worths(mixed([2.0, 0.5]), LAST, SIGNS, np.ones(128))
    np.testing.assert_allclose(found, [4 * 2.0**2, 4 * 0.5**2, 0.0], atol=1e-12)


def test_squares_of_a_layer_without_skips_are_worth_their_variance():
    w = np.diag(np.sqrt([3.0, 1.0, 0.1, 0.0]))
    found = worths(w, np.ones(4, bool), LEVELS, np.ones(81))
    np.testing.assert_allclose(found, [0.5 * 9.0, 0.5, 0.5 * 0.01, 0.0], atol=1e-12)


def test_the_feature_of_most_variance_comes_first_whatever_its_singular_value():
    """That of the largest is the square of a sign, which is constant."""
    feed, w = np.vstack([np.tile([1.0, -1.0], 81), np.repeat(LEVELS, 2, axis=1)]), np.diag(np.sqrt([3.0, 1, 0, 0, 0]))
    np.testing.assert_allclose(worths(w, np.ones(5, bool), feed, np.ones(162)), [0.5, 0, 0, 0, 0], atol=1e-12)


def test_worth_counts_the_width_and_not_the_rank_of_the_gram_matrix():
    """Rows of W that read layer l-1 alone, or ◁ alone, write the term as another sum of squares and are no features."""
    rng = stream("worth", "spurious")
    alone = np.zeros((4, 7))
    alone[:2, LAST], alone[2:, ~LAST] = rng.standard_normal((2, 3)), rng.standard_normal((2, 4))
    w = np.vstack([mixed([2.0, 0.5]), alone])
    assert np.linalg.matrix_rank(w.T @ w) == 6
    np.testing.assert_allclose(worths(w, LAST, SIGNS, np.ones(128)), [16.0, 1.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("last", [LAST, np.ones(7, bool)])
def test_worth_belongs_to_the_function_and_not_to_its_coordinates(last):
    """Rotating W's rows, or changing the coordinates of its inputs (l-1 and ◁ apart), changes nothing."""
    rng = stream("worth", "coordinates")
    w, feed, weights = rng.standard_normal((9, 7)), rng.standard_normal((7, 500)), rng.uniform(0.1, 1.0, 500)
    change = np.zeros((7, 7))
    for block in (last, ~last):
        change[np.ix_(block, block)] = rng.standard_normal((block.sum(), block.sum()))
    turned = np.linalg.qr(rng.standard_normal((9, 9)))[0] @ w @ np.linalg.inv(change)
    np.testing.assert_allclose(
        worths(turned, last, change @ feed, weights), worths(w, last, feed, weights), rtol=1e-6, atol=1e-8
    )
