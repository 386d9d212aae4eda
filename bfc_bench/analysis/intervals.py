"""Confidence intervals over replicates that are valid from 3 replicates on: of means, ranges, shares; p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

CONFIDENCE = 0.95

MIN_SKEWED = 5
"""With fewer values, skewness is neither tested nor allowed for."""

SAME = 0.01
"""Smallest standard deviation in the likelihood of values in ranges, as a fraction of the widest range, or of all."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval; the bounds are nan for a single value."""

    mean: float
    lo: float
    hi: float
    count: int
    """Number of values used."""

    def exp(self) -> Interval:
        """The interval of exp(quantity), for a quantity that is averaged as a logarithm."""
        return Interval(exp(self.mean), exp(self.lo), exp(self.hi), self.count)

    def columns(self, name: str) -> dict[str, float]:
        """Mean and bounds as columns of a record: ``name``, ``name_lo`` and ``name_hi``."""
        return {name: self.mean, f"{name}_lo": self.lo, f"{name}_hi": self.hi}

    def __str__(self) -> str:
        return f"{self.mean:.3g}" + ("" if math.isnan(self.lo) else f" [{self.lo:.3g}, {self.hi:.3g}]")


NOTHING = Interval(math.nan, math.nan, math.nan, 0)


def exp(x: float) -> float:
    """e^x; inf if that exceeds float64."""
    return math.inf if x > 709 else math.exp(x)


@cache
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t: 12.7 at 1 degree of freedom, 1.96 in the limit."""
    from scipy.special import stdtrit  # 100 times faster than ``stats.t.ppf``, which calls it

    return float(stdtrit(degrees, (1 + confidence) / 2)) if degrees > 0 else math.nan


def two_sided_p(t: float, degrees: float) -> float:
    """The probability that the absolute value of Student's t exceeds ``t`` >= 0."""
    from scipy.special import stdtr  # what ``stats.t.sf`` calls; importing ``stats`` takes half a second

    return float(2 * stdtr(degrees, -t))


def holm(p: Sequence[float]) -> list[float]:
    """p-values adjusted by Holm's method; nan stays nan and does not count as a test."""
    tests = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    adjusted, largest = list(p), 0.0
    for rank, (value, i) in enumerate(tests):
        largest = max(largest, min(1.0, (len(tests) - rank) * value))
        adjusted[i] = largest
    return adjusted


def _known(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The values that are not nan."""
    x = np.asarray(values, dtype=float)
    return np.asarray(x[~np.isnan(x)])


def t_interval(values: Sequence[float] | np.ndarray) -> Interval:
    """Mean of R values with its interval m ± t_{R-1} s / sqrt(R); nan values are ignored, R = 1 gives nan bounds."""
    x = _known(values)
    if x.size == 0:
        return NOTHING
    mean = float(x.mean())
    if x.size == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = t_quantile(x.size - 1) * float(x.std(ddof=1)) / math.sqrt(x.size)
    return Interval(mean, mean - half, mean + half, x.size)


def t_drop(values: int, parameters: int) -> float:
    """The fall of the profile log-likelihood, (N / 2) log(1 + t^2 / (N - p)), at which an interval ends.

    For exact normal values this gives Student's interval. The usual fall, half a quantile of chi-squared, gives
    intervals that are too narrow for few values.
    """
    degrees = values - parameters
    return values / 2 * math.log1p(t_quantile(degrees) ** 2 / degrees)


@lru_cache(10_000)  # each takes a search, and tables, figures and summaries need the same ones
def range_interval(lows: tuple[float, ...], highs: tuple[float, ...]) -> Interval:
    """Mean of R values that are known to lie in [low_r, high_r], (R,), with its likelihood interval.

    Both are those of the likelihood of normal values (``tobit``), the interval cut by ``t_drop``; for exact values they
    are those of ``t_interval``. A value is censored if one end is infinite; some value must not be. If all ranges
    overlap, the interval contains at least what they share.
    """
    from bfc_bench.analysis.tobit import profile_interval, tobit

    lower, upper = np.array(lows), np.array(highs)
    if lower.size < 2 or (lower == upper).all():
        return t_interval((lower + upper) / 2)
    ends = np.concatenate([lower, upper])
    ones, least_sigma = np.ones((lower.size, 1)), SAME * max(float(np.ptp(ends[np.isfinite(ends)])), SAME)
    fit = tobit(ones, lower, upper, least_sigma)
    lo, hi = profile_interval(fit, ones, lower, upper, 0, t_drop(lower.size, 1), least_sigma)
    return Interval(float(fit.beta[0]), lo, hi, lower.size)


def skewness(values: Sequence[float] | np.ndarray) -> float:
    """Adjusted Fisher-Pearson skewness of R values; nan if R < 3 or all are equal."""
    x = _known(values)
    r = x.size
    if r < 3 or float(np.ptp(x)) <= 1e-12 * float(np.abs(x).max()):
        return math.nan
    centred = x - x.mean()
    return float(math.sqrt(r * (r - 1)) / (r - 2) * (centred**3).mean() / (centred**2).mean() ** 1.5)


def is_skewed(values: Sequence[float] | np.ndarray) -> bool:
    """Whether ``skewness`` exceeds 1.96 of its standard errors for normal values, as in 1 of 20 normal samples.

    False for fewer than 5 values. Student's intervals of skewed values cover 88 to 90 % instead of 95 %.
    """
    r = len(_known(values))
    return r >= MIN_SKEWED and abs(skewness(values)) > 1.96 * skewness_error(r)


def skewness_error(count: int) -> float:
    """Standard error of ``skewness`` for this number of normal values, 3 or more."""
    return math.sqrt(6 * count * (count - 1) / ((count - 2) * (count + 1) * (count + 3)))


def clopper_pearson(successes: float, trials: float, confidence: float = CONFIDENCE) -> Interval:
    """The share of successes with the exact binomial interval (Clopper and Pearson 1934).

    A number of trials that is not whole has one too.
    """
    from scipy.special import betaincinv

    if not trials:
        return NOTHING
    tail = (1 - confidence) / 2
    lo = float(betaincinv(successes, trials - successes + 1, tail)) if successes > 0 else 0.0
    hi = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(successes / trials, lo, hi, int(trials))


def share_interval(shares: Sequence[float] | np.ndarray, points: float, pool: float) -> Interval:
    """Mean of R shares of wrong points, with an interval for the sampling of replicates and of test points.

    The variance of the mean p is s^2 / R. Because replicates share test points, (R - 1) / R of p (1 - p) / pool is
    added; this is the largest possible term, reached if each point is wrong in all replicates or in none. The interval
    is the binomial interval of the number of independent points with this variance, with Student's degrees of freedom
    (Korn and Graubard 1998).

    Args:
        shares: Share of wrong points per replicate, (R,); nan values are ignored.
        points: Number of test points of each replicate.
        pool: Number of points from which all replicates draw their test points.
    """
    x = _known(shares)
    r, p = x.size, float(x.mean()) if x.size else math.nan
    if not r:
        return NOTHING
    effective = min(r * points, pool)
    between = float(x.var(ddof=1)) / r if r > 1 else p * (1 - p) / points
    variance = between + (r - 1) / r * p * (1 - p) / pool
    if variance > 0:
        # The variance between replicates has R - 1 degrees of freedom, that of the points has many.
        degrees = (r - 1) * (variance / between) ** 2 if r > 1 and between > 0 else math.inf
        ratio = t_quantile(effective - 1) / t_quantile(degrees) if math.isfinite(degrees) else 1.0
        effective = max(min(p * (1 - p) / variance * ratio**2, effective), 1.0)
    return replace(clopper_pearson(p * effective, effective), mean=p, count=r)


def averaged_shares(shares: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Shares x (R, K) as log m + (x - m) / m, with m their mean over R; where m is 0, their ``logs`` at the floor."""
    mean = np.nansum(shares, axis=0) / np.maximum(1, (~np.isnan(shares)).sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(mean > 0, np.log(mean) + shares / mean - 1, logs)
