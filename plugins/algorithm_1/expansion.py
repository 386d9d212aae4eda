"""Draws the fixed random matrix R_l of the re-parameterised network."""

from __future__ import annotations

import numpy as np


def random_expansion(
    rng: np.random.Generator, rows: int, kernel: np.ndarray, feed: np.ndarray, floor: float, moment: float
) -> np.ndarray:
    """Draw R (rows, k) for features S = K feed such that E[(R S)^4] = ``moment``.

    R is a multiple of N C^{-1/2}, with N standard normal and C = E[S S^T], whose eigenvalues are raised to at least
    ``floor`` times the largest, so that 1 makes C a multiple of the identity. The inverse root keeps weak features
    visible beside strong ones.
    """
    expansion = rng.standard_normal((rows, len(kernel)))
    if floor < 1:
        s = kernel @ feed
        values, vectors = np.linalg.eigh(s @ s.T / s.shape[1])
        if values[-1] > 0:
            expansion = expansion @ ((vectors / np.sqrt(np.maximum(values, floor * values[-1]))) @ vectors.T)
    fourth = float(np.mean((expansion @ kernel @ feed) ** 4)) or 1.0
    return np.asarray((moment / fourth) ** 0.25 * expansion)
