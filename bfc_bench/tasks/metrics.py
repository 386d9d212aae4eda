"""How wrong predictions are. Every array argument has shape (m,)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from bfc_bench.learner import LabelKind
from bfc_bench.tasks.base import Float

TRIMMED_SHARE = 0.01


@dataclass(frozen=True)
class Metric:
    """An error of predictions on a cell's test points: a number >= 0, the less the better."""

    name: str
    """How suites, claims and results call it: ``metrics.NAME``."""
    measure: Callable[[Float, Truth], float]
    """``measure(prediction, truth)``: the error of predictions (m,) of the values ``truth.target`` (m,)."""
    labels: frozenset[LabelKind] = frozenset({"real"})
    """Label kinds that it is measured on. For ``real`` the truth is the clean target, for ``binary`` the labels."""
    floor: float = 0.0
    """The least error that can be told from none; smaller ones are kept as this. Positive for an error that is often 0,
    since means of results are those of logarithms."""

    def error(self, prediction: Float, truth: Truth) -> float:
        """The value, at least ``floor``. Raises ``ValueError`` for a number that is no error."""
        error = float(self.measure(prediction, truth))
        if not 0 <= error < inf:
            raise ValueError(f"must give a finite number >= 0. Got {error}")
        return max(error, self.floor)


class Truth:
    """Target values, with what every error against them needs, computed once for all predictions."""

    def __init__(self, target: Float, share: float = TRIMMED_SHARE) -> None:
        self.target = np.asarray(target, float)
        """(m,)."""
        self._share = share

    def nmse(self, prediction: Float) -> float:
        """``nmse``."""
        return self._mean_square("nmse", prediction) / self._variance

    def trimmed_nmse(self, prediction: Float) -> float:
        """``trimmed_nmse``."""
        return self._mean_square("trimmed_nmse", prediction, trimmed=True) / self._kept_variance

    @cached_property
    def constant(self) -> bool:
        """Whether all values are equal, where no relative error exists."""
        return bool(np.ptp(self.target) == 0)

    @cached_property
    def _variance(self) -> float:
        return _variance(self.target)

    @cached_property
    def _kept(self) -> np.ndarray:
        distance = np.abs(self.target - np.median(self.target))
        return np.argsort(distance, kind="stable")[: len(self.target) - int(self._share * len(self.target))]

    @cached_property
    def _kept_variance(self) -> float:
        return _variance(self.target[self._kept])

    def _mean_square(self, who: str, prediction: Float, *, trimmed: bool = False) -> float:
        """E(F - G*)^2."""
        prediction, target = _same_shape(who, prediction, self.target)
        kept = self._kept if trimmed else slice(None)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = ((prediction - target) ** 2)[kept]
            return float(squares.sum() / len(squares))


def nmse(prediction: Float, target: Float) -> float:
    """E(F - G*)^2 / Var G* over the m points: 1 for the constant mean, not finite where a prediction is not.

    Raises ``ValueError`` when the shapes differ or the target is constant, where no relative error exists.
    """
    return Truth(target).nmse(prediction)


def trimmed_nmse(prediction: Float, target: Float, share: float = TRIMMED_SHARE) -> float:
    """NMSE on the points that remain when the ``share`` of them farthest from the target's median is left out.

    floor(share m) points are left out, chosen by the target alone, so they are the same for every learner. Variance and
    error are both those of the remaining points. Raises ``ValueError`` as ``nmse`` does.
    """
    return Truth(target, share).trimmed_nmse(prediction)


def error_rate(prediction: Float, labels: Float) -> float:
    """Share of points where the prediction's sign is not the label; zero and NaN have no sign and count as wrong.

    Raises ``ValueError`` when the shapes differ or a label is neither -1 nor +1.
    """
    prediction, labels = _same_shape("error_rate", prediction, labels)
    if not np.all(np.abs(labels) == 1):
        raise ValueError(f"error_rate: labels must be -1 or +1. Got {np.unique(labels)[:5].tolist()}.")
    return float(np.mean(np.sign(prediction) != labels))


def _nmse(prediction: Float, truth: Truth) -> float:
    """E(F - G*)^2 / Var G*."""
    return truth.nmse(prediction)


def _nmse_trimmed(prediction: Float, truth: Truth) -> float:
    """NMSE without the 1 % of points whose target value lies farthest from the median."""
    return truth.trimmed_nmse(prediction)


def _error_rate(prediction: Float, truth: Truth) -> float:
    """Share of wrong signs."""
    return error_rate(prediction, truth.target)


METRICS: tuple[Metric, ...] = (
    Metric("nmse", _nmse),
    Metric("nmse_trimmed", _nmse_trimmed),
    Metric("error_rate", _error_rate, frozenset({"binary"})),
)
"""The built-in metrics; each has a column of the row."""


def _variance(target: Float) -> float:
    """Raises ``ValueError`` for a constant."""
    variance = float(np.var(target))
    if np.ptp(target) == 0 or variance == 0:  # rounding leaves a constant some variance
        raise ValueError(f"nmse: the target is constant on all {len(target)} points, so that no relative error exists.")
    return variance


def _same_shape(who: str, prediction: Float, target: Float) -> tuple[Float, Float]:
    prediction, target = np.asarray(prediction, float), np.asarray(target, float)
    if prediction.shape != target.shape or target.ndim != 1 or not len(target):
        raise ValueError(f"{who}: expected two arrays (m,), m > 0. Got shapes {prediction.shape} and {target.shape}.")
    return prediction, target
