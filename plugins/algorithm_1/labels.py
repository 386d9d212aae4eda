"""Scales labels for training and chooses their loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class TrainingLabels:
    """Labels (y - shift) / scale, (n,), and their loss, with the numbers that turn it into a relative squared error."""

    y: np.ndarray
    shift: float
    scale: float
    weights: np.ndarray
    """Weights of the points in the loss, (n,)."""
    unit: float
    """Divisor of the loss."""
    untrained: float
    """Mean loss over ``unit`` without training: of F = 0, or of the best constant if that is larger."""
    loss: Callable[[Array, Array], Array]


def real(y: np.ndarray, loss: Literal["weighted", "square"]) -> TrainingLabels:
    """Real labels (n,): t = (y - median) / (1.48 MAD). The unit is the (weighted) variance of t."""
    from bfc_bench.toolkit.ensemble import square_loss, weighted_square_loss

    median = float(np.median(y))
    spread = 1.4826 * float(np.median(np.abs(y - median))) or float(np.std(y)) or 1.0
    t = (y - median) / spread
    weights = 1.0 / (1.0 + t * t) if loss == "weighted" else np.ones_like(t)
    unit = float(np.mean(weights * (t - np.average(t, weights=weights)) ** 2)) or 1.0
    point_loss = weighted_square_loss if loss == "weighted" else square_loss
    untrained = max(float(np.mean(weights * (y / spread) ** 2)) / unit, 1.0)
    return TrainingLabels(t, median, spread, weights, unit, untrained, point_loss)


def binary(y: np.ndarray, v: float, known: np.ndarray) -> TrainingLabels:
    """Binary labels with the cross entropy CE(y, v z) of margins z (BFC section 3.2).

    The unit is v: for margins with an error e > 1/v, the cross entropy over v is of the order of e^2 (Lemma H.1), so
    the thresholds and regularisers of a squared error apply, Obj / v = CE / v + Reg (3.3).
    """
    from bfc_bench.toolkit.ensemble import cross_entropy_loss

    untrained = max(float(np.mean(np.logaddexp(0.0, -v * y * known))), math.log(2.0)) / v
    return TrainingLabels(v * y, 0.0, 1.0, np.ones_like(y), v, untrained, cross_entropy_loss)


def half_curvature(logits: np.ndarray) -> np.ndarray:
    """Half the second derivative of log(1 + exp(-z)), any shape: a small error e of z adds e^2 times this.

    It is the same for both labels and never 0.
    """
    tails = np.exp(-np.minimum(np.abs(logits), 300.0))
    return np.asarray(0.5 * tails / (1.0 + tails) ** 2)
