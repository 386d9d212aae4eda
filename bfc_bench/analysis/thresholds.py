"""N*(eps): the sample size at which a learning curve reaches an error, replicate by replicate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval, geometric_mean
from bfc_bench.errors import UsageError


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where one replicate reaches the level: at ``n``, or beyond the tested sizes."""

    replicate: int
    n: float
    """N*, or the bound on it: the largest tested size (right-censored) or the smallest (left-censored)."""
    censored: Literal["left", "right"] | None = None

    @property
    def log_bounds(self) -> tuple[float, float]:
        """The interval that log N* is known to lie in; a point where it is not censored."""
        log_n = math.log(self.n)
        return (-math.inf if self.censored == "left" else log_n, math.inf if self.censored == "right" else log_n)


@dataclass(frozen=True, slots=True)
class Threshold:
    """N*(level) over replicates."""

    level: float
    crossings: tuple[Crossing, ...]

    @property
    def left(self) -> int:
        """Replicates that reach the level at the smallest tested size already."""
        return sum(crossing.censored == "left" for crossing in self.crossings)

    @property
    def right(self) -> int:
        """Replicates that do not reach the level at the largest tested size."""
        return sum(crossing.censored == "right" for crossing in self.crossings)

    @property
    def interval(self) -> Interval:
        """Geometric mean of N* with its t-interval; nan where any replicate is censored."""
        if self.left or self.right or not self.crossings:
            return NOTHING
        return geometric_mean([crossing.n for crossing in self.crossings])

    @property
    def median(self) -> tuple[float, float]:
        """Bounds on the median N*: equal where it is known, 0 or inf where censoring leaves a side open."""
        if not self.crossings:
            return math.nan, math.nan
        lower, upper = zip(*(crossing.log_bounds for crossing in self.crossings), strict=True)
        return math.exp(_median(lower)), math.exp(_median(upper))


@dataclass(frozen=True, slots=True)
class Reached:
    """N*(level) of one learner on one task at one d."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    level: float
    threshold: Threshold

    def as_dict(self) -> dict[str, Any]:
        """A flat record.

        ``n_star`` is the geometric mean with its interval, nan where a replicate is censored, ``median`` nan where
        censoring hides it; ``below`` and ``beyond`` count the replicates that are censored on either side.
        """
        interval, (lower, upper) = self.threshold.interval, self.threshold.median
        return {
            "task": self.task,
            "d": self.d,
            "label": self.label,
            "metric": self.metric,
            "level": self.level,
            "n_star": interval.mean,
            "lo": interval.lo,
            "hi": interval.hi,
            "median": lower if lower == upper else math.nan,
            "replicates": len(self.threshold.crossings),
            "below": self.threshold.left,
            "beyond": self.threshold.right,
        }


def crossings(curve: Curve, level: float) -> list[Crossing]:
    """N*(level) of each replicate of a curve whose error falls with n.

    Isotonic (non-increasing) regression of log error on log n, then log-log interpolation; on a linear scale regression
    of the error itself, and interpolation that is linear in it and in log n. A replicate whose fit is at
    or below the level at its smallest size is left-censored there, one that is above it at its largest size
    right-censored there. Sizes without a value are left out, and so are replicates without any.
    Raises ``UsageError`` where ``level`` is not positive.
    """
    if not level > 0:
        raise UsageError(f"crossings: level must be positive. Got {level!r}.")
    found = []
    bound = level if curve.scale == "linear" else math.log(level)
    for replicate, error in zip(curve.replicates, curve.scaled, strict=True):
        measured = ~np.isnan(error)
        if measured.any():
            found.append(_crossing(replicate, np.log(curve.n[measured]), error[measured], bound))
    return found


def threshold(curve: Curve, level: float) -> Threshold:
    """N*(level) over the replicates of a curve. Raises ``UsageError`` where ``level`` is not positive."""
    return Threshold(level, tuple(crossings(curve, level)))


def thresholds(curves: Iterable[Curve], levels: Sequence[float]) -> list[Reached]:
    """N* of each curve at each level. Raises ``UsageError`` where a level is not positive."""
    return [
        Reached(curve.task, curve.d, curve.name, curve.metric, level, threshold(curve, level))
        for curve in curves
        for level in levels
    ]


def _crossing(replicate: int, log_n: np.ndarray, error: np.ndarray, level: float) -> Crossing:
    """Where the error, on the scale on which it is averaged as ``level`` is, comes down to the level."""
    from scipy.optimize import isotonic_regression

    fit = isotonic_regression(error, increasing=False).x
    if fit[0] <= level:
        return Crossing(replicate, math.exp(log_n[0]), "left")
    if fit[-1] > level:
        return Crossing(replicate, math.exp(log_n[-1]), "right")
    after = int(np.argmax(fit <= level))
    share = (fit[after - 1] - level) / (fit[after - 1] - fit[after])
    return Crossing(replicate, math.exp(log_n[after - 1] + share * (log_n[after] - log_n[after - 1])))


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
