"""Ridge regression with an offset for a grid of penalties, and generalised cross-validation among them.

Source: Golub, Heath and Wahba, Technometrics 21 (1979).

Shapes: n points phi with q coordinates, 50 penalties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PENALTIES = np.logspace(-6, 6, 50)
"""Penalties on |w|^2 beside the sum of squared errors, (50,)."""
LEAST_FREEDOM = 0.05
"""Least share of n that n - df may be for a penalty to be chosen."""


@dataclass(frozen=True)
class RidgePath:
    """The fits w . phi + offset of all penalties."""

    weights: np.ndarray
    """(q, 50)."""
    offsets: np.ndarray
    """(50,)."""
    scores: np.ndarray
    """n |residual|^2 / (n - df)^2, (50,), infinite where n - df is too small; df counts the offset."""

    @classmethod
    def of(cls, phi: np.ndarray, y: np.ndarray) -> RidgePath:
        """The fits to labels y (n,)."""
        n, mean = len(y), phi.mean(axis=0)
        centred, labels = phi - mean, y - y.mean()
        tall = n >= phi.shape[1]
        values, vectors = np.linalg.eigh(centred.T @ centred if tall else centred @ centred.T)
        values = values.clip(min=0)[:, None]
        along = vectors.T @ (centred.T @ labels if tall else labels)
        weights = vectors @ (along[:, None] / (values + PENALTIES))
        weights = weights if tall else centred.T @ weights
        freedom = n - 1 - (values / (values + PENALTIES)).sum(axis=0)
        allowed = freedom >= LEAST_FREEDOM * n
        squares = np.sum((labels[:, None] - centred @ weights) ** 2, axis=0)
        scores = np.where(allowed, n * squares / np.where(allowed, freedom, 1.0) ** 2, np.inf)
        return cls(weights, y.mean() - mean @ weights, scores)

    @property
    def best(self) -> int:
        """The penalty of least score; the largest one if none is allowed."""
        return int(np.argmin(self.scores)) if np.isfinite(self.scores).any() else len(PENALTIES) - 1

    def errors(self, phi: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Mean squared error at other points of each penalty, (50,)."""
        return np.asarray(np.mean((y[:, None] - phi @ self.weights - self.offsets) ** 2, axis=0))
