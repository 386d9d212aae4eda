"""Variances that the features of a layer add to the network's output, for the rank rule ``worth``."""

import numpy as np
from bfc_plugins.algorithm_1.initial_distill import roots


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
