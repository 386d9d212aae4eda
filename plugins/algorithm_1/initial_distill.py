"""INITIAL-DISTILL of "Backward Feature Correction" (Allen-Zhu & Li, Algorithm 1, lines 21-23): K_l from W_l."""

from __future__ import annotations

import numpy as np


def initial_distill(
    w: np.ndarray, last: np.ndarray, moment: np.ndarray, threshold: float, max_rank: int
) -> tuple[np.ndarray, np.ndarray]:
    """The warm start K (k, q) of a layer from W (w, q), and the singular values that its rank k was read from.

    ``last`` (q,) marks the inputs that come from layer l-1, the others are ◁; ``moment`` (q, q) is the second moment of
    all inputs, E[feed feed^T]. k counts the singular values of W_◁^T W_{l-1} that are at least ``threshold`` of the
    largest, but is at least 1 and at most ``max_rank``, and K_◁^T K_{l-1} is the best approximation of that matrix of
    rank k. Both are taken in the norm of the inputs, |M_◁^{1/2} . M_{l-1}^{1/2}|_F, so that weights on inputs that
    vanish do not count. That leaves K free up to an invertible k x k factor, which the paper uses to bound the other
    regularisers (B.2, stage l-diamond): here K_{l-1}^T K_{l-1} is W_{l-1}^T W_{l-1} on the k directions found.

    A layer that is fed by layer l-1 alone, as the paper's index rule makes layer 2, has no ◁: there K^T K is the best
    approximation of W^T W.
    """
    root, inverse = roots(moment[np.ix_(last, last)])
    above = w[:, last] @ root
    if last.all():
        _, s, vt = np.linalg.svd(above.T @ above)
        k = _rank(s, threshold, max_rank)
        return np.sqrt(s[:k, None]) * (vt[:k] @ inverse), s
    skip_root, skip_inverse = roots(moment[np.ix_(~last, ~last)])
    u, s, vt = np.linalg.svd(skip_root @ w[:, ~last].T @ above)
    k = _rank(s, threshold, max_rank)
    factor, inverse_factor = roots(vt[:k] @ above.T @ above @ vt[:k].T)
    kernel = np.zeros((k, w.shape[1]))
    kernel[:, last] = factor @ vt[:k] @ inverse
    kernel[:, ~last] = inverse_factor @ (s[:k, None] * u[:, :k].T) @ skip_inverse
    return kernel, s


def printed_distill(w: np.ndarray, last: np.ndarray, threshold: float, max_rank: int) -> np.ndarray:
    """K (k, q) from W (w, q) to the letter of lines 21-23: K_◁ = Sigma^{1/2} U^T, K_{l-1} = Sigma^{1/2} V^T.

    k counts the singular values of W_◁^T W_{l-1} that are at least ``threshold``, 1 / (10 kappa^2) in the paper, but is
    at least 1 and at most ``max_rank``. A layer without ◁, of which the paper does not speak, takes W^T W in its place.
    """
    u, s, vt = np.linalg.svd(w[:, last if last.all() else ~last].T @ w[:, last])
    k = min(max(int(np.sum(s >= threshold)), 1), max_rank)
    kernel = np.zeros((k, w.shape[1]))
    kernel[:, last] = np.sqrt(s[:k, None]) * vt[:k]
    if not last.all():
        kernel[:, ~last] = np.sqrt(s[:k, None]) * u[:, :k].T
    return kernel


def _rank(singular_values: np.ndarray, threshold: float, max_rank: int) -> int:
    count = int(np.sum(singular_values >= threshold * singular_values[0]))
    return min(max(count, 1), max_rank)


def roots(moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M^{1/2} and its pseudo-inverse, of a positive semi-definite M."""
    values, vectors = np.linalg.eigh(moment)
    kept = values > 1e-6 * max(values[-1], np.finfo(float).tiny)
    roots, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
