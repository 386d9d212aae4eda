"""The predictor of learners that find one direction: a polynomial of the projection, by least squares.

Shapes: n training points, m points, d dimensions, K degree of the polynomial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bfc_bench.learner import Predictor
from bfc_bench.utils.hermite import hermite


@dataclass(frozen=True)
class DirectionPredictor(Predictor):
    """sum_k a_k he_k(w . x), for a direction w (d,) of norm 1 and coefficients a (K + 1,)."""

    direction: np.ndarray
    coefficients: np.ndarray
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        values: np.ndarray = self.coefficients @ hermite(x @ self.direction, len(self.coefficients) - 1)
        return values

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """The projection {"S2": (m, 1)}."""
        return {"S2": (x @ self.direction)[:, None]}


def read_out(x: np.ndarray, y: np.ndarray, direction: np.ndarray, degree: int) -> DirectionPredictor:
    """The least-squares fit on he_0, ..., he_K of the projection; with fewer points, that of smallest norm."""
    coefficients, *_ = np.linalg.lstsq(hermite(x @ direction, degree).T, y, rcond=None)
    return DirectionPredictor(direction, coefficients, {"coefficients": coefficients.tolist()})
