"""Hermite polynomials, orthonormal under the standard normal law."""

from math import sqrt

import numpy as np


def hermite(t: np.ndarray, degree: int) -> np.ndarray:
    """he_0(t), ..., he_degree(t), shape (degree + 1, *t.shape): He_k / sqrt(k!), orthonormal under N(0, 1).

    By the recurrence sqrt(k + 1) he_{k+1} = t he_k - sqrt(k) he_{k-1}.
    """
    values = np.empty((degree + 1, *t.shape))
    values[0] = 1.0
    for k in range(degree):
        values[k + 1] = (t * values[k] - sqrt(k) * values[k - 1]) / sqrt(k + 1) if k else t
    return values
