"""K_l from W_l: INITIAL-DISTILL of "Backward Feature Correction" (Allen-Zhu & Li, Algorithm 1, lines 21-23), and what
the rank rule ``worth`` does later: it measures what features add to the output, adds features and removes them.

All are in the norm of the layer's inputs. Shapes: q inputs of a layer, k features, n points.
"""

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
    return int(np.clip(np.sum(singular_values >= threshold * singular_values[0]), 1, max_rank))


def roots(moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M^{1/2} and its pseudo-inverse, of a positive semi-definite M."""
    values, vectors = np.linalg.eigh(moment)
    positive = values > 1e-6 * max(values[-1], np.finfo(float).tiny)
    roots, vectors = np.sqrt(values[positive]), vectors[:, positive]
    return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T


def missing_feature(w: np.ndarray, kernel: np.ndarray, last: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """The row (q,) that brings K closest to W: INITIAL-DISTILL at rank 1 of their difference.

    The difference is W_◁^T W_{l-1} - K_◁^T K_{l-1}, or W^T W - K^T K for a layer that is fed by layer l-1 alone, in the
    norm of the inputs.
    """
    root, inverse = roots(moment[np.ix_(last, last)])
    above, below = w[:, last] @ root, kernel[:, last] @ root
    if last.all():
        values, vectors = np.linalg.eigh(above.T @ above - below.T @ below)
        return np.asarray(np.sqrt(max(values[-1], 0.0)) * (vectors[:, -1] @ inverse))
    row = np.zeros(w.shape[1])
    skip_root, skip_inverse = roots(moment[np.ix_(~last, ~last)])
    u, s, vt = np.linalg.svd(skip_root @ (w[:, ~last].T @ above - kernel[:, ~last].T @ below))
    factor = np.linalg.norm(above @ vt[0])
    if factor > 0:
        row[last] = factor * (vt[0] @ inverse)
        row[~last] = s[0] / factor * (u[:, 0] @ skip_inverse)
    return row


def leading_directions(kernel: np.ndarray, last: np.ndarray, moment: np.ndarray, rank: int) -> np.ndarray:
    """Orthonormal Q (k, rank) such that Q^T K replaces K at a lower rank.

    Its columns span K_{l-1} M_{l-1}^{1/2} v_i for the ``rank`` leading right singular vectors v_i of the mixed matrix
    K_◁^T K_{l-1} in the norm of the inputs, so that the mixed matrices of Q^T K and of K agree on the v_i. For a layer
    that is fed by layer l-1 alone they are the leading principal directions of K feed.
    """
    above = kernel[:, last] @ roots(moment[np.ix_(last, last)])[0]
    if last.all():
        return np.asarray(np.linalg.svd(above)[0][:, :rank])
    skip = kernel[:, ~last] @ roots(moment[np.ix_(~last, ~last)])[0]
    vt = np.linalg.svd(skip.T @ above)[2]
    return np.asarray(np.linalg.qr(above @ vt[:rank].T)[0])


def worths(w: np.ndarray, last: np.ndarray, feed: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Variances of the features of W, largest first, (min(dim ◁, dim l-1),).

    With M the second moment of the inputs, z = M^{-1/2} feed and (s_i, u_i, v_i) the singular triples of
    M_◁^{1/2} W_◁^T W_{l-1} M_{l-1}^{1/2}, the mixed part of |W feed|^2 is sum_i 2 s_i (u_i . z_◁) (v_i . z_{l-1}), and
    feature i is its term i. The rank of the mixed matrix identifies the layer's width, that of W^T W does not (BFC
    Corollary F.4a). A layer that is fed by layer l-1 alone has the terms s_i (v_i . z)^2 of W^T W.
    """
    root, inverse = roots(second_moment(feed[last]))
    above, z = w[:, last] @ root, inverse @ feed[last]
    if last.all():
        _, s, vt = np.linalg.svd(above.T @ above)
        terms = s[:, None] * (vt @ z) ** 2
    else:
        skip_root, skip_inverse = roots(second_moment(feed[~last]))
        u, s, vt = np.linalg.svd(skip_root @ w[:, ~last].T @ above, full_matrices=False)
        terms = 2.0 * s[:, None] * (u.T @ skip_inverse @ feed[~last]) * (vt @ z)
    centred = terms - np.average(terms, axis=1, weights=weights)[:, None]
    variances = np.asarray(np.mean(weights * centred**2, axis=1))
    return np.sort(variances)[::-1]


def second_moment(feed: np.ndarray) -> np.ndarray:
    """E[feed feed^T], (q, q)."""
    return np.asarray(feed @ feed.T / feed.shape[1])
