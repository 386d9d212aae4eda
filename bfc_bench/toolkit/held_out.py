"""Held-out points, by which tuning and learners judge their choices."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from bfc_bench.learner import Predictor

P = TypeVar("P", bound=Predictor)
EVERY = 5
"""Every fifth point is held out."""


def held_out(n: int) -> np.ndarray:
    """True for every fifth of n points, (n,), so that the other points of nested samples are nested."""
    return np.asarray(np.arange(n) % EVERY == EVERY - 1)


def confirmed(fit: Callable[[np.ndarray, np.ndarray], P | None], x: np.ndarray, y: np.ndarray) -> P | None:
    """What ``fit(x, y)`` makes of four fifths of x (n, d) and y (n,), if it predicts the others better than a constant.

    The constant is the mean label of the four fifths; with fewer than 5 points the result is None.
    """
    out = held_out(len(y))
    model = fit(x[~out], y[~out])
    if model is None:
        return None
    residuals, spread = y[out] - model.predict(x[out]), y[out] - y[~out].mean()
    return model if residuals @ residuals < spread @ spread else None
