"""Intervals over replicates that cover at 3 to 10 of them: Student's t, and its likelihood for values in ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

CONFIDENCE = 0.95

MIN_SKEWED = 5
"""Fewer values show no skewness, and have too few resamples for a bootstrap."""

SAME = 0.01
"""Of the widest range that values are known to: the least standard deviation that a likelihood may explain them by."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval; the bounds are nan where one value cannot give any."""

    mean: float
    lo: float
    hi: float
    count: int
    """Values used."""

    def exp(self) -> Interval:
        """The interval of exp(quantity), for a quantity averaged in logarithms."""
        return Interval(math.exp(self.mean), math.exp(self.lo), math.exp(self.hi), self.count)

    def __str__(self) -> str:
        return f"{self.mean:.3g}" + ("" if math.isnan(self.lo) else f" [{self.lo:.3g}, {self.hi:.3g}]")


NOTHING = Interval(math.nan, math.nan, math.nan, 0)


@cache
def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t: 12.7 at 1 degree of freedom, 1.96 in the limit."""
    from scipy.special import stdtrit  # what ``stats.t.ppf`` asks, after a hundred times as long

    return float(stdtrit(degrees, (1 + confidence) / 2)) if degrees > 0 else math.nan


def two_sided_p(t: float, degrees: float) -> float:
    """The probability that Student's t of so many degrees of freedom lies beyond ``t`` >= 0, on either side."""
    from scipy.special import stdtr  # all of ``stats.t.sf``, whose module takes half a second to import

    return float(2 * stdtr(degrees, -t))


def t_interval(values: Sequence[float] | np.ndarray) -> Interval:
    """Mean of R values, m ± t_{R-1} s / sqrt(R). Values that are nan are left out; R = 1 gives nan bounds."""
    x = np.asarray(values, dtype=float)
    x = x[~np.isnan(x)]
    if x.size == 0:
        return NOTHING
    mean = float(x.mean())
    if x.size == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = t_quantile(x.size - 1) * float(x.std(ddof=1)) / math.sqrt(x.size)
    return Interval(mean, mean - half, mean + half, x.size)


def t_drop(values: int, parameters: int, confidence: float = CONFIDENCE) -> float:
    """The fall of a profile log-likelihood that makes a likelihood interval of exact normal values Student's.

    (N / 2) log(1 + t^2 / (N - p)) for N ``values`` and p coefficients: more than half of chi-squared's, by which
    likelihood intervals of few values are too narrow.
    """
    degrees = values - parameters
    return values / 2 * math.log1p(t_quantile(degrees, confidence) ** 2 / degrees)


def range_interval(lower: Sequence[float] | np.ndarray, upper: Sequence[float] | np.ndarray) -> Interval:
    """Mean of R values that are known to lie in [lower_r, upper_r], all finite, with an interval of their likelihood.

    The mean is that of the middles, without bias where the ranges lie at random. The interval is that of the profile
    likelihood of normal values (``tobit``), cut where it makes exact values Student's, so ``t_interval`` is its limit.
    Ranges that share points leave the mean open between the extremes of these: replicates that all lie in one range
    give that range at least.
    """
    return _range_interval(tuple(map(float, lower)), tuple(map(float, upper)))


@lru_cache(10_000)
def _range_interval(lows: tuple[float, ...], highs: tuple[float, ...]) -> Interval:
    """The same, kept: tables, figures and summaries ask for the same ones, each of which takes a search."""
    from bfc_bench.analysis.tobit import profile_interval

    lower, upper = np.array(lows), np.array(highs)
    exact = t_interval((lower + upper) / 2)
    widest = float((upper - lower).max(initial=0.0))
    if widest == 0 or exact.count < 2:
        return exact
    drop = t_drop(exact.count, 1)
    lo, hi = profile_interval(np.ones((exact.count, 1)), lower, upper, 0, drop, SAME * widest)
    return Interval(exact.mean, min(lo, exact.mean), max(hi, exact.mean), exact.count)


def skewness(values: Sequence[float] | np.ndarray) -> float:
    """Adjusted Fisher-Pearson coefficient of R values; nan below 3 or where all are equal."""
    x = np.asarray(values, dtype=float)
    x = x[~np.isnan(x)]
    r = x.size
    if r < 3 or float(np.ptp(x)) <= 1e-12 * float(np.abs(x).max()):
        return math.nan
    centred = x - x.mean()
    return float(math.sqrt(r * (r - 1)) / (r - 2) * (centred**3).mean() / (centred**2).mean() ** 1.5)


def is_skewed(values: Sequence[float] | np.ndarray) -> bool:
    """Whether ``skewness`` exceeds 1.96 standard errors of normal values, which 1 of 20 normal samples does.

    Never below 5 values, which cannot show it. Student's intervals of skewed values cover 88 to 90 %, not 95.
    """
    r = int((~np.isnan(np.asarray(values, dtype=float))).sum())
    if r < MIN_SKEWED:
        return False
    error = math.sqrt(6 * r * (r - 1) / ((r - 2) * (r + 1) * (r + 3)))
    return abs(skewness(values)) > 1.96 * error


def bootstrap_t(values: Sequence[float] | np.ndarray, *key: object, resamples: int = 4000) -> Interval:
    """Mean of R values with the bootstrap-t interval (Efron 1982), an option for skewed values from R = 5 on.

    Quantiles of (m* - m) / (s* / sqrt(R)) over resamples take the place of Student's; ``key`` says what the values are,
    and with it the resamples are always the same. Below 5 values it is ``t_interval``: there are too few resamples.
    """
    from bfc_bench.seeds import stream

    x = np.asarray(values, dtype=float)
    x = x[~np.isnan(x)]
    exact = t_interval(x)
    if x.size < MIN_SKEWED or float(np.ptp(x)) == 0:
        return exact
    drawn = x[stream("bootstrap-t", *key).integers(x.size, size=(resamples, x.size))]
    spread = drawn.std(axis=1, ddof=1)
    varied = spread > 0
    t = (drawn.mean(axis=1)[varied] - exact.mean) * math.sqrt(x.size) / spread[varied]
    low, high = np.quantile(t, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    error = float(x.std(ddof=1)) / math.sqrt(x.size)
    return Interval(exact.mean, exact.mean - float(high) * error, exact.mean - float(low) * error, x.size)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """A share with its interval from the binomial law (Clopper and Pearson 1934), which never covers less."""
    from scipy.special import betaincinv

    if not trials:
        return NOTHING
    tail = (1 - confidence) / 2
    lo = float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0
    hi = float(betaincinv(successes + 1, trials - successes, 1 - tail)) if successes < trials else 1.0
    return Interval(successes / trials, lo, hi, trials)


def share_interval(shares: Sequence[float] | np.ndarray, points: float, pool: float) -> Interval:
    """Mean of R shares of wrong points, with an interval that counts replicates and test points.

    Each share is counted on ``points`` test points, which replicates draw from the same ``pool``: their mean varies by
    s^2 / R, and since they share points by (R - 1) / R of p (1 - p) / pool more, at most, which is the case where a
    point is wrong in every replicate or in none. That is the variance of so many independent points, whose binomial
    interval is taken, with Student's degrees of freedom (Korn and Graubard 1998). Shares that are nan are left out.
    """
    from scipy.special import betaincinv

    x = np.asarray(shares, dtype=float)
    x = x[~np.isnan(x)]
    r, p = x.size, float(x.mean()) if x.size else math.nan
    if not r:
        return NOTHING
    most = min(r * points, pool)
    between = float(x.var(ddof=1)) / r if r > 1 else p * (1 - p) / points
    variance = between + (r - 1) / r * p * (1 - p) / pool
    if variance > 0:
        # The share that is owed to replicates has R - 1 degrees of freedom, the one to points has many.
        degrees = (r - 1) * (variance / between) ** 2 if r > 1 and between > 0 else math.inf
        ratio = t_quantile(most - 1) / t_quantile(degrees) if math.isfinite(degrees) else 1.0
        most = max(min(p * (1 - p) / variance * ratio**2, most), 1.0)
    wrong, tail = p * most, (1 - CONFIDENCE) / 2
    lo = float(betaincinv(wrong, most - wrong + 1, tail)) if wrong > 0 else 0.0
    hi = float(betaincinv(wrong + 1, most - wrong, 1 - tail)) if wrong < most else 1.0
    return Interval(p, lo, hi, r)


def geometric_mean(values: Sequence[float] | np.ndarray) -> Interval:
    """Geometric mean of R positive values, exp(m ± t_{R-1} s / sqrt(R)) with m, s of the logarithms.

    Values that are nan are left out; R = 1 gives nan bounds. Raises ``ValueError`` for a value that is not positive.
    The interval does not survive rare failures: show the worst value and the count of failures beside it.
    """
    x = np.asarray(values, dtype=float)
    if (x <= 0).any():
        raise ValueError(f"geometric_mean: values must be positive. Got {x.min()!r} instead; clip to a floor first.")
    return t_interval(np.log(x)).exp()
