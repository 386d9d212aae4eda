"""The fixed random R_l of the re-parameterised network."""

from __future__ import annotations

from typing import Literal

import numpy as np


def random_expansion(
    rng: np.random.Generator,
    rows: int,
    kernel: np.ndarray,
    feed: np.ndarray,
    floor: float,
    moment: float | Literal["printed"],
) -> np.ndarray:
    """R (rows, k) for features S = K feed, of K (k, q) and inputs feed (q, n), such that E[(R S)^4] = ``moment``.

    With moment "printed" R has normal entries of variance 1/k^2 (line 1). Else R is E C^{-1/2} times one number: E is a
    matrix of normal numbers, and C = E[S S^T] with its eigenvalues raised to at least ``floor`` of the
    largest, so that weak features are not lost beside strong ones. With a floor of 1, C is a multiple of the identity.
    """
    expansion = rng.standard_normal((rows, len(kernel)))
    if moment == "printed":
        return expansion / len(kernel)
    if floor < 1:
        s = kernel @ feed
        values, vectors = np.linalg.eigh(s @ s.T / s.shape[1])
        if values[-1] > 0:
            expansion = expansion @ ((vectors / np.sqrt(np.maximum(values, floor * values[-1]))) @ vectors.T)
    fourth = float(np.mean((expansion @ kernel @ feed) ** 4)) or 1.0
    return np.asarray((moment / fourth) ** 0.25 * expansion)
