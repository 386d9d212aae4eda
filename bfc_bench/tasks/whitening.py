"""ZCA whitening: columns made uncorrelated by the linear map that changes points least.

Shapes: n points, m points, d columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from bfc_bench.tasks.base import Float

FLOOR = 1e-3
"""Directions with less variance than this fraction of the mean are scaled as if they had it."""


@dataclass(frozen=True)
class Whitening:
    """x -> (x - mean) S^(-1/2), S the covariance of the points that it is fitted to (Bell and Sejnowski 1997).

    Eigenvalues of S below ``FLOOR`` times their mean are raised to it, so that directions with hardly any variance are
    not amplified: those beyond the number of points, and some directions of images. The whitened points have variance 1
    in all other directions, and less in these.
    """

    mean: Float
    """(d,)."""
    matrix: Float
    """S^(-1/2), (d, d), symmetric."""

    @classmethod
    def of(cls, x: Float) -> Self:
        """Fitted to points (n, d)."""
        mean = x.mean(axis=0)
        centred = x - mean
        variances, directions = np.linalg.eigh(centred.T @ centred / len(x))
        floor = FLOOR * max(float(variances.mean()), np.finfo(float).tiny)
        return cls(mean, (directions / np.sqrt(np.maximum(variances, floor))) @ directions.T)

    def __call__(self, x: Float) -> Float:
        """Points (m, d) whitened."""
        whitened: Float = (x - self.mean) @ self.matrix
        return whitened
