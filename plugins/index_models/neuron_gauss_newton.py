"""One neuron with a polynomial activation, fitted to all points again and again by damped Gauss-Newton steps."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from bfc_plugins.index_models.read_out import DirectionPredictor, gauss_newton_step, read_out, square_error
from pydantic import Field

from bfc_bench.learner import Capabilities, Context, Cost, Data, Learner, Predictor
from bfc_bench.seeds import stream
from bfc_bench.toolkit.held_out import confirmed

SMALLEST_GAIN = 1e-6
"""A descent ends when a step lowers the squared error by a smaller share."""
EXACT = 1e-14
"""Training error, over the variance of the labels, of a fit that needs no held-out points."""


class NeuronGaussNewton(Learner):
    """min_{w, a} sum_i (y_i - sum_{k <= K} a_k he_k(w . x_i))^2, |w| = 1, by Gauss-Newton from random directions.

    The coefficients a are those of least squares at every w (variable projection). Of ``starts`` descents the one with
    the smallest training error is taken. If it is not exact, the descents begin on four fifths of the points: the one
    with the smallest error there goes on with all points if it predicts the held-out ones better than the mean does;
    otherwise the predictor is the mean. Every step uses all points again. Reuse of points lets gradient methods learn
    a polynomial of one direction, unless it is even, with n ~ d points up to logarithms, whatever its information
    exponent, because a second step on a point acts as a transformation of its label (Dandi et al. 2024, arXiv
    2402.03220; Lee, Oko, Suzuki and Wu 2024, arXiv 2406.01581). The learner is told the degree K.
    """

    name: ClassVar[str] = "neuron-gauss-newton"
    version: ClassVar[int] = 2
    capabilities: ClassVar[Capabilities] = Capabilities(labels=frozenset({"real", "binary"}))
    smoke: ClassVar[Mapping[str, Any]] = {"starts": 2, "steps": 5}

    degree: Annotated[int, Field(ge=1)] = 3
    """Degree K of the activation."""
    starts: Annotated[int, Field(ge=1)] = 8
    """Number of random directions from which a descent begins."""
    steps: Annotated[int, Field(ge=1)] = 30
    """Largest number of steps of a descent."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Fit to the n training points; the mean label if no descent is believed."""
        directions = stream(ctx.seed, "neuron-gauss-newton").standard_normal((self.starts, train.d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        best = self._least_error(directions, train.x, train.y)
        if best and best.info["training_error"] > EXACT * np.var(train.y):
            best = confirmed(partial(self._least_error, directions), train.x, train.y)
            if best:
                start = read_out(train.x, train.y, best.direction, self.degree)
                best = _descent(start, train.x, train.y, self.steps)
        if best:
            return best
        mean = train.y.mean() * np.eye(self.degree + 1)[0]
        return DirectionPredictor(directions[0], mean, {"coefficients": mean.tolist(), "steps": 0})

    def _least_error(self, directions: np.ndarray, x: np.ndarray, y: np.ndarray) -> DirectionPredictor | None:
        """The descent of least error; None with at most one point more than unknowns, which any neuron nearly fits."""
        if len(y) <= x.shape[1] + self.degree + 1:
            return None
        ended = [_descent(read_out(x, y, direction, self.degree), x, y, self.steps) for direction in directions]
        return min(ended, key=lambda descent: descent.info["training_error"])

    def assumes(self) -> Mapping[str, Any]:
        """The degree of the link."""
        return {"degree": self.degree}

    def cost(self, n: int, d: int) -> Cost:
        """A step forms products of J and tries about two dampings. Descents on four fifths cost .8 as much."""
        one = 2.0 * n * d * (d + 3 * self.degree) + 2 * (10.0 * d**3 + 2.0 * n * (d + self.degree**2))
        flops = 1.8 * self.starts * self.steps * one
        return Cost(flops, 8.0 * n * (4 * d + 4 * self.degree), work="products", seconds=0.05)


def _descent(start: DirectionPredictor, x: np.ndarray, y: np.ndarray, steps: int) -> DirectionPredictor:
    """The predictor at the end of a descent of at most ``steps`` steps."""
    best, error, done = start, square_error(start, x, y), 0
    while done < steps and (step := gauss_newton_step(best, x, y, _slopes(best.direction, x))):
        done += 1
        before, (best, error) = error, step
        if error > (1 - SMALLEST_GAIN) * before:
            break
    return replace(best, info={**best.info, "steps": done, "training_error": error / len(y)})


def _slopes(w: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The parts (n, d) of x (n, d) along the sphere at w (d,)."""
    return np.asarray(x - np.outer(x @ w, w))
