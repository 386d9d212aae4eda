"""Compresses the points for a quadratic network of one trained layer, so that a step's cost does not depend on n.

F = constant + alpha Sum (W z)^2, with z the inputs of the layer, is linear in q(z) = (1, z z^T), with coefficients
constant and M = alpha W^T W. So the mean over n points of a weighted square loss, omega_i (F(z_i) - y_i)^2, is a
squared norm. The triangle of a QR decomposition of the n rows sqrt(omega_i / n) (q(z_i), y_i) has the same norm for
every W: at most P + 1 rows replace all points, with equal loss and gradient, and without the rounding errors of a
matrix of fourth moments.

Letters in shapes: n points, D = dim z, m units, P = 1 + D (D + 1) / 2 coefficients, R = min(n, P + 1) rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bfc_plugins.quadratic.net import Params, QuadraticNet

from bfc_bench.toolkit.arrays import NumpyOrJax

CHUNK = 4096
"""Number of points decomposed at once, which bounds the memory."""
VECTOR_COST = 5.0
"""Time per operation of matrix-vector products relative to matrix-matrix products: 3 to 6 on one core."""


@dataclass(frozen=True)
class QuadraticStatistics:
    """F of a network of one trained layer, as a function of q(z). Equal networks hash equal."""

    net: QuadraticNet

    @property
    def dim(self) -> int:
        """D."""
        return sum(self.net.fan_ins(2))

    @property
    def coefficients(self) -> int:
        """P."""
        return 1 + self.dim * (self.dim + 1) // 2

    def size(self, n: int) -> int:
        """R."""
        return min(n, self.coefficients + 1)

    def pays(self, n: int) -> bool:
        """Whether a step on the compressed rows of n points costs less than one on the points."""
        return VECTOR_COST * self.size(n) * self.coefficients < n * self.dim * self.net.widths[0]

    def flops(self, n: int, steps: int) -> float:
        """Floating-point operations of a training on n points."""
        return 4.0 * self.size(n) * self.coefficients * steps + 2.0 * n * self.coefficients**2

    def features(self, params: Params, x: np.ndarray) -> np.ndarray:
        """q(z), (n, P), at x (n, d): 1 and z_i z_j for i <= j."""
        columns = np.asarray(x, np.float64).T
        outputs = {0: columns, 1: columns**2 - np.asarray(params["square_mean"])[:, None]}
        z = self.net.joined(outputs, 2)
        i, j = np.triu_indices(self.dim)
        return np.concatenate([np.ones((1, len(x))), z[i] * z[j]]).T

    def __call__(self, params: Params, q: NumpyOrJax) -> NumpyOrJax:
        """F, (B,), at q (B, P)."""
        xp: Any = q.__array_namespace__()
        w = params["W2"]
        i, j = np.triu_indices(self.dim)
        moments = xp.exp(params["log_alpha"][0]) * (w.T @ w)[i, j] * np.where(i == j, 1.0, 2.0)
        values: NumpyOrJax = params["constant"] * q[:, 0] + q[:, 1:] @ moments
        return values

    def rows(self, params: Params, x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows whose mean of (F - y)^2 equals the points' mean of ``weights`` (F(x) - y)^2, for every W.

        Args:
            params: parameters, of which only ``square_mean`` is used.
            x: inputs (n, d).
            y: labels (n,).
            weights: weights of the points (n,).

        Returns:
            q (R, P) and y (R,).
        """
        triangle: np.ndarray = np.empty((0, self.coefficients + 1))
        for first in range(0, len(x), CHUNK):
            part = slice(first, first + CHUNK)
            points = np.column_stack([self.features(params, x[part]), y[part]])
            weighted = np.sqrt(weights[part])[:, None] * points
            triangle = np.asarray(np.linalg.qr(np.concatenate([triangle, weighted]), mode="r"))
        triangle = triangle * np.sqrt(len(triangle) / len(x))
        return triangle[:, :-1], triangle[:, -1]
