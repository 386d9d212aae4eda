"""Features that are added to a distilled layer, and taken away."""

import numpy as np
import pytest
from bfc_plugins.algorithm_1.distill import initial_distill, leading_directions, missing_feature

from bfc_bench.seeds import stream

Q, SKIP, K = 7, 4, 3
LAST = np.arange(SKIP + Q) >= SKIP


def layer(last):
    """W (20, q) of rank 3 and a second moment of its inputs."""
    rng = stream("growth", int(last.sum()))
    root = rng.standard_normal((len(last), len(last)))
    return rng.standard_normal((20, K)) @ rng.standard_normal((K, len(last))), root @ root.T


def mixed(w, last):
    """W_◁^T W_{l-1}, or W^T W for a layer without ◁."""
    return w[:, last if last.all() else ~last].T @ w[:, last]


@pytest.mark.parametrize("last", [LAST, np.ones(Q, bool)])
def test_a_feature_that_was_left_out_is_the_one_that_is_found(last):
    w, moment = layer(last)
    whole = initial_distill(w, last, moment, 1e-9, 6)
    assert len(whole) == K
    part = initial_distill(w, last, moment, 1e-9, K - 1)
    row = missing_feature(w, part, last, moment)
    grown = np.vstack([part, row])
    np.testing.assert_allclose(mixed(grown, last), mixed(w, last), atol=1e-8)
    nothing = np.vstack([grown, missing_feature(w, grown, last, moment)])
    np.testing.assert_allclose(mixed(nothing, last), mixed(w, last), atol=1e-6)


@pytest.mark.parametrize("last", [LAST, np.ones(Q, bool)])
def test_leading_directions_keep_what_is_large(last):
    """K has two features and a small third one, in coordinates of its own; without it Q^T K is as good."""
    w, moment = layer(last)
    kernel = initial_distill(w, last, moment, 1e-9, K)
    kernel[2] *= 1e-4
    rotated = np.linalg.qr(stream("rotation").standard_normal((K, K)))[0] @ kernel
    q = leading_directions(rotated, last, moment, 2)
    np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(mixed(q.T @ rotated, last), mixed(kernel[:2], last), atol=1e-3)
