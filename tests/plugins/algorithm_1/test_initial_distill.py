"""INITIAL-DISTILL finds the rank of a layer and its best approximation of that rank."""

import numpy as np
import pytest
from bfc_plugins.algorithm_1.distill import initial_distill
from bfc_plugins.algorithm_1.printed import printed_distill

from bfc_bench.seeds import stream

Q, SKIP = 7, 4


def orthonormal(rng, rows, columns):
    return np.linalg.qr(rng.standard_normal((columns, rows)))[0].T


def low_rank(k):
    """W (20, q) with W^T W = K^T K for a K of rank k with orthonormal blocks."""
    rng = stream("initial-distill")
    kernel = np.concatenate([orthonormal(rng, k, SKIP), orthonormal(rng, k, Q)], axis=1)
    return orthonormal(rng, k, 20).T @ kernel


LAST = np.arange(SKIP + Q) >= SKIP


def test_rank_counts_the_singular_values_from_the_threshold_on():
    """Those of W^T W are 1, .64, .25 and .01."""
    w = np.diag([1.0, 0.8, 0.5, 0.1])
    thresholds = {0.641: 1, 0.639: 2, 0.251: 2, 0.249: 3, 0.0101: 3, 0.0099: 4}
    found = {each: len(initial_distill(w, np.ones(4, bool), np.eye(4), each, 4)) for each in thresholds}
    assert found == thresholds
    assert len(initial_distill(np.eye(4), np.ones(4, bool), np.eye(4), 1.0, 4)) == 4, "all are the largest"


def test_layer_with_skips_gets_the_best_approximation_of_the_mixed_block():
    w = stream("mixed").standard_normal((9, SKIP + Q))
    kernel = initial_distill(w, LAST, np.eye(len(LAST)), 0.6, Q)
    k = len(kernel)
    assert k < SKIP
    u, s, vt = np.linalg.svd(w[:, ~LAST].T @ w[:, LAST])
    np.testing.assert_allclose(kernel[:, ~LAST].T @ kernel[:, LAST], (u[:, :k] * s[:k]) @ vt[:k], atol=1e-10)


def test_layer_of_low_rank_is_reproduced_with_all_its_blocks():
    w = low_rank(3)
    kernel = initial_distill(w, LAST, np.eye(len(LAST)), 0.3, 6)
    np.testing.assert_allclose(kernel.T @ kernel, w.T @ w, atol=1e-9)


def test_approximation_is_in_the_norm_of_the_inputs():
    rng = stream("norm")
    root = rng.standard_normal((Q, Q))
    moment = root @ root.T
    w = rng.standard_normal((9, Q))
    kernel = initial_distill(w, np.ones(Q, bool), moment, 0.3, 2)
    factor = np.linalg.cholesky(moment)
    values = np.linalg.eigvalsh(factor.T @ w.T @ w @ factor)
    difference = factor.T @ (kernel.T @ kernel - w.T @ w) @ factor
    assert np.sum(difference**2) == pytest.approx(np.sum(values[: -len(kernel)] ** 2), rel=1e-8)


def test_weights_on_inputs_that_vanish_do_not_count():
    w = low_rank(2)
    noisy = w.copy()
    noisy[:, -1] = 100.0
    moment = np.eye(len(LAST))
    moment[-1, -1] = 0.0
    w[:, -1] = 0.0
    kernel = initial_distill(noisy, LAST, moment, 0.3, 6)
    assert len(kernel) == 2
    np.testing.assert_allclose(kernel, initial_distill(w, LAST, moment, 0.3, 6), atol=1e-9)


def test_printed_distillation_is_the_singular_value_decomposition_to_the_letter():
    """Lines 21-23: the rank by the values themselves, K_◁^T K_{l-1} the truncated SVD, its root shared out evenly."""
    w = stream("printed").standard_normal((9, SKIP + Q))
    u, s, vt = np.linalg.svd(w[:, ~LAST].T @ w[:, LAST])
    kernel = printed_distill(w, LAST, s[1] * 0.999, 6)
    assert len(kernel) == 2
    np.testing.assert_allclose(kernel[:, ~LAST].T @ kernel[:, LAST], (u[:, :2] * s[:2]) @ vt[:2], atol=1e-10)
    for block in (LAST, ~LAST):
        np.testing.assert_allclose(kernel[:, block] @ kernel[:, block].T, np.diag(s[:2]), atol=1e-10)
    assert len(printed_distill(w, LAST, 1e9, 6)) == 1
    assert len(printed_distill(w, LAST, s[3] * 0.5, 3)) == 3
    alone = printed_distill(w[:, LAST], np.ones(Q, bool), 1e-9, Q)
    np.testing.assert_allclose(alone.T @ alone, w[:, LAST].T @ w[:, LAST], atol=1e-10)
