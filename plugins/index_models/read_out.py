"""The predictor of learners that find directions: polynomials of the projections, by least squares.

Shapes: n training points, m points, d dimensions, r directions, K degree of the polynomials.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np

from bfc_bench.learner import Predictor
from bfc_bench.utils.hermite import hermite

DAMPING = (0.0, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Levenberg's damping over the mean diagonal of J^T J; the first that lowers the squared error is taken."""


@dataclass(frozen=True)
class DirectionPredictor(Predictor):
    """sum_k a_k he_k(w . phi(x)), for a direction w of norm 1 and coefficients a (K + 1,)."""

    direction: np.ndarray
    coefficients: np.ndarray
    info: Mapping[str, Any] = field(default_factory=dict)
    stages: Mapping[str, Predictor] = field(default_factory=dict)
    phi: Callable[[np.ndarray], np.ndarray] = np.asarray
    """Maps x (m, d) to what w multiplies; x itself by default."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Predictions (m,) at x (m, d)."""
        return np.asarray(self.coefficients @ hermite(self.phi(x) @ self.direction, len(self.coefficients) - 1))

    def hidden(self, x: np.ndarray) -> Mapping[str, np.ndarray]:
        """The projection {"S2": (m, 1)}."""
        return {"S2": (self.phi(x) @ self.direction)[:, None]}


def read_out(x: np.ndarray, y: np.ndarray, direction: np.ndarray, degree: int) -> DirectionPredictor:
    """The least-squares fit on he_0, ..., he_K of the projection; with fewer points, that of smallest norm."""
    coefficients, *_ = np.linalg.lstsq(hermite(x @ direction, degree).T, y, rcond=None)
    return DirectionPredictor(direction, coefficients, {"coefficients": coefficients.tolist()})


def gauss_newton_step(
    here: DirectionPredictor, x: np.ndarray, y: np.ndarray, slopes: np.ndarray, dampings: Sequence[float] = DAMPING
) -> tuple[DirectionPredictor, float] | None:
    """One step on the direction, with the read-out of least squares at every direction (variable projection).

    ``slopes`` (n, d) are the derivatives of the projections. Returns the next predictor and its squared error; None if
    none of ``dampings`` lowers the error.
    """
    w, degree = here.direction, len(here.coefficients) - 1
    values = hermite(x @ w, degree)
    by_projection = np.array([sqrt(k) for k in range(1, degree + 1)])[:, None] * values[:-1]  # he_k' = sqrt(k) he_{k-1}
    jacobian = (here.coefficients[1:] @ by_projection)[:, None] * slopes
    jacobian -= values.T @ np.linalg.lstsq(values.T, jacobian, rcond=None)[0]  # the polynomial follows the direction
    residual = y - here.coefficients @ values
    square, gradient = jacobian.T @ jacobian, jacobian.T @ residual
    size = np.trace(square) / len(w)
    for damping in dampings:
        shift, *_ = np.linalg.lstsq(square + damping * size * np.eye(len(w)), gradient, rcond=None)
        moved = w + shift
        if np.isfinite(moved).all() and moved.any():
            tried = read_out(x, y, moved / np.linalg.norm(moved), degree)
            if (reached := square_error(tried, x, y)) < np.sum(residual**2):
                return tried, reached
    return None


def square_error(predictor: DirectionPredictor, x: np.ndarray, y: np.ndarray) -> float:
    """sum_i (y_i - f(x_i))^2."""
    return float(np.sum((y - predictor.predict(x)) ** 2))


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
