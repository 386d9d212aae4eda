"""Errors of predictions. Arrays have shape (m,); scores and probabilities of C classes have shape (m, C)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Literal

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float

TRIMMED_SHARE = 0.01
BINS = 15
"""Number of bins of the calibration error."""


@dataclass(frozen=True)
class Metric:
    """An error of predictions on a cell's test points: a number >= 0, smaller is better, 0 for the truth itself."""

    name: str
    """Its name in suites, claims and results: ``metrics.NAME``."""
    measure: Callable[[Float, TargetValues], float]
    """``measure(prediction, truth)``: the error of predictions (m,) of the values ``truth.target`` (m,); for labels of
    kind ``class``, of scores (m, C). Its docstring says what it measures and when to look at it."""
    labels: frozenset[LabelKind] = frozenset({"real"})
    """Label kinds that it applies to. For ``real`` the truth is the clean target, for the others the labels."""
    of: Literal["predictions", "probabilities"] = "predictions"
    """What ``measure`` is given; a metric of ``probabilities`` is left out where a predictor has none."""
    floor: float = 0.0
    """The smallest value that is stored; smaller errors are raised to it. Positive for an error that is often 0, since
    results are averaged as logarithms."""
    largest: float = inf
    """The largest value that it can have."""

    def error(self, prediction: Float, truth: TargetValues) -> float:
        """The value, at least ``floor``. Raises ``ValueError`` if it is negative or not finite."""
        error = float(self.measure(prediction, truth))
        if not 0 <= error < inf:
            raise ValueError(f"must give a finite number >= 0. Got {error}")
        return max(error, self.floor)


class TargetValues:
    """Target values, and what every error against them needs, computed once."""

    def __init__(self, target: Float) -> None:
        self.target = np.asarray(target, float)
        """(m,)."""

    @cached_property
    def constant(self) -> bool:
        """Whether all values are equal, so that no relative error exists."""
        return bool(np.ptp(self.target) == 0)

    @cached_property
    def variance(self) -> float:
        """Var G* over the m points. Raises ``ValueError`` if it is 0, so that no relative error exists."""
        variance = float(np.var(self.target))
        if self.constant or variance == 0:  # rounding may give a constant some variance
            count = len(self.target)
            raise ValueError(f"nmse: the target is constant on all {count} points, so that no relative error exists.")
        return variance

    @cached_property
    def kept(self) -> np.ndarray:
        """The points that trimming keeps, without the floor(``TRIMMED_SHARE`` m) that are farthest from the median."""
        distance = np.abs(self.target - np.median(self.target))
        return np.argsort(distance, kind="stable")[: len(self.target) - int(TRIMMED_SHARE * len(self.target))]

    @cached_property
    def trimmed(self) -> TargetValues:
        """The values of the points that trimming keeps."""
        return TargetValues(self.target[self.kept])


def nmse(prediction: Float, truth: TargetValues) -> float:
    """``sum_i (F(x_i) - G*(x_i))^2 / sum_i (G*(x_i) - mean G*)^2`` over the test points: 1 for the constant mean.

    The default of curves, levels and claims for real labels. Where the target has heavy tails, a few points may decide
    it: compare nmse_trimmed.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        squares = (prediction - truth.target) ** 2
        return float(squares.sum() / len(squares)) / truth.variance


def nmse_trimmed(prediction: Float, truth: TargetValues) -> float:
    """nmse without the floor(m / 100) test points at which ``|G*(x_i) - median G*|`` is largest.

    For targets with heavy tails: whether the rest of the target is learned. The points are the same for every learner.
    """
    return nmse(prediction[truth.kept], truth.trimmed)


def error_rate(prediction: Float, truth: TargetValues) -> float:
    """Share of the test points whose predicted class is wrong.

    For labels -1 and +1 the class is the sign of predictions (m,); zero and NaN have no sign and count as wrong. For
    labels 0 ... C - 1 it is the largest of the scores (m, C); a point with two largest scores counts as wrong.

    The default of curves, levels and claims for classes. It is a multiple of 1 / m, so choose a large test_size for
    small errors. It does not say how sure a learner is: see log_loss.
    """
    if prediction.ndim == 2:
        numbers = truth.target.astype(int)[:, None]
        own = np.take_along_axis(prediction, numbers, 1)[:, 0]
        others = prediction.copy()
        np.put_along_axis(others, numbers, -inf, 1)
        return float(np.mean(~(own > others.max(axis=1))))
    return float(np.mean(np.sign(prediction) != truth.target))


def log_loss(probabilities: Float, truth: TargetValues) -> float:
    """``-(1 / m) sum_i log max(p_i, 1e-15)``, in nats per point, p_i the probability of the label of x_i.

    Compares learners that give probabilities as a whole, since the true ones have the smallest expected value. log C is
    the value of equal probabilities of C classes. A few labels that were given almost no probability may decide it.
    """
    table, numbers = _probabilities("log_loss", probabilities, truth)
    probability = np.take_along_axis(table, numbers[:, None], 1)
    return float(-np.log(np.clip(probability, 1e-15, 1)).mean())


def calibration_error(probabilities: Float, truth: TargetValues) -> float:
    """``sum_b (m_b / m) |share of right predictions in b - mean p in b|``, p the probability of the likeliest class.

    b are 15 bins of equal width of p (Guo et al. 2017, equation 3). It says whether a class with p = .9 is right nine
    times in ten, and nothing about how many predictions are right. It is never 0 on few test points, even for the true
    probabilities.
    """
    table, numbers = _probabilities("calibration_error", probabilities, truth)
    sure, right = table.max(axis=1), table.argmax(axis=1) == numbers
    bin_of = np.minimum((sure * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bin_of, right - sure, BINS)).sum() / len(numbers))


CLASSES: frozenset[LabelKind] = frozenset({"binary", "class"})
METRICS: tuple[Metric, ...] = (
    Metric("nmse", nmse),
    Metric("nmse_trimmed", nmse_trimmed),
    Metric("error_rate", error_rate, CLASSES, largest=1.0),
)
"""The built-in metrics that have a column of their own in a row."""
BUILT_IN: tuple[Metric, ...] = (
    *METRICS,
    Metric("log_loss", log_loss, CLASSES, "probabilities", 1e-15, largest=-float(np.log(1e-15))),
    Metric("calibration_error", calibration_error, CLASSES, "probabilities", 1e-15, largest=1.0),
)
"""All built-in metrics."""


def _probabilities(who: str, probabilities: Float, truth: TargetValues) -> tuple[Float, np.ndarray]:
    """Class probabilities (m, C), checked, and class numbers (m,)."""
    table, labels = np.asarray(probabilities, float), truth.target
    if table.ndim == 1:
        table, labels = np.stack([1 - table, table], axis=1), (labels + 1) / 2
    if not (np.all(table >= -1e-6) and np.all(np.abs(table.sum(axis=1) - 1) <= 1e-3)):
        raise ValueError(
            f"{who}: probabilities must be >= 0 and of sum 1 for each point. Got {table[:2].tolist()}, ..."
        )
    return table, labels.astype(int)
