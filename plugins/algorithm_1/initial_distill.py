"""INITIAL-DISTILL of "Backward Feature Correction" (Allen-Zhu & Li, Algorithm 1, lines 21-23): K_l from W_l."""

import numpy as np


def initial_distill(w: np.ndarray, last: np.ndarray, moment: np.ndarray, threshold: float, max_rank: int) -> np.ndarray:
    """The initial K_l (k, q) of a layer, from W_l.

    The rank k counts the singular values of W_◁^T W_{l-1} that are at least ``threshold`` times the largest, with ◁ for
    the inputs that do not come from layer l-1. K_◁^T K_{l-1} is the best approximation of that matrix at rank k. Both
    use the norm of the inputs, |M_◁^{1/2} . M_{l-1}^{1/2}|_F, so that weights on inputs that vanish do not count. This
    fixes K up to an invertible k x k factor (B.2, stage l-diamond); K_{l-1}^T K_{l-1} is W_{l-1}^T W_{l-1} on the k
    directions. In a layer that is fed by layer l-1 alone, K^T K is the best approximation of W^T W.
    """
    root, inverse = roots(moment[np.ix_(last, last)])
    above = w[:, last] @ root
    if last.all():
        _, s, vt = np.linalg.svd(above.T @ above)
        k = _rank(s, threshold, max_rank)
        return np.asarray(np.sqrt(s[:k, None]) * (vt[:k] @ inverse))
    skip_root, skip_inverse = roots(moment[np.ix_(~last, ~last)])
    u, s, vt = np.linalg.svd(skip_root @ w[:, ~last].T @ above)
    k = _rank(s, threshold, max_rank)
    factor, inverse_factor = roots(vt[:k] @ above.T @ above @ vt[:k].T)
    kernel = np.zeros((k, w.shape[1]))
    kernel[:, last] = factor @ vt[:k] @ inverse
    kernel[:, ~last] = inverse_factor @ (s[:k, None] * u[:, :k].T) @ skip_inverse
    return kernel


def _rank(singular_values: np.ndarray, threshold: float, max_rank: int) -> int:
    count = int(np.sum(singular_values >= threshold * singular_values[0]))
    return min(max(count, 1), max_rank)


def roots(moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M^{1/2} and its pseudo-inverse, of a positive semi-definite M."""
    values, vectors = np.linalg.eigh(moment)
    positive = values > 1e-6 * max(values[-1], np.finfo(float).tiny)
    roots, vectors = np.sqrt(values[positive]), vectors[:, positive]
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
