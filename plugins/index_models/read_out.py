"""The predictor of learners that find directions: polynomials of the projections, by least squares.

Shapes: n training points, m points, d dimensions, r directions, K degree of the polynomials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class SumPredictor(Predictor):
    """sum_s f_s(w_s . x), for r functions of one direction each."""

    terms: tuple[DirectionPredictor, ...]
    info: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        return np.asarray(sum(term.predict(x) for term in self.terms))

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """The projections {"S2": (m, r)}."""
        return {"S2": np.hstack([term.hidden(x)["S2"] for term in self.terms])}


def read_out_of_all(x: np.ndarray, y: np.ndarray, directions: Sequence[np.ndarray], degree: int) -> SumPredictor:
    """The least-squares fit on he_1, ..., he_K of all projections and a constant, which the first term has."""
    features = [hermite(x @ direction, degree) for direction in directions]
    columns = np.vstack([features[0], *(values[1:] for values in features[1:])]).T
    constant, *coefficients = np.linalg.lstsq(columns, y, rcond=None)[0]
    of_terms = np.reshape(coefficients, (len(directions), degree))
    constants = [constant] + [0.0] * (len(directions) - 1)
    terms = [DirectionPredictor(w, np.append(c, a)) for w, c, a in zip(directions, constants, of_terms, strict=True)]
    return SumPredictor(tuple(terms), {"coefficients": of_terms.tolist()})
