"""Adds features to a distilled K_l and removes them, which changes its rank after INITIAL-DISTILL."""

import numpy as np
from bfc_plugins.algorithm_1.initial_distill import roots


def missing_feature(w: np.ndarray, kernel: np.ndarray, last: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """The row (q,) that brings K closest to W: INITIAL-DISTILL at rank 1 of their difference.

    The difference is W_◁^T W_{l-1} - K_◁^T K_{l-1}, or W^T W - K^T K for a layer that is fed by layer l-1 alone, in the
    norm of the inputs.
    """
    root, inverse = roots(moment[np.ix_(last, last)])
    above, below = w[:, last] @ root, kernel[:, last] @ root
    row = np.zeros(w.shape[1])
    if last.all():
        values, vectors = np.linalg.eigh(above.T @ above - below.T @ below)
        row[:] = np.sqrt(max(values[-1], 0.0)) * (vectors[:, -1] @ inverse)
        return row
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
