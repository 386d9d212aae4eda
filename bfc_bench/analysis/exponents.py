"""Exponents: how N* grows with d, and how error falls with n, with intervals that cover when values are censored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import SAME, Interval, t_drop, t_interval, t_quantile, two_sided_p
from bfc_bench.analysis.thresholds import Crossing
from bfc_bench.analysis.tobit import Tobit, profile_interval, tobit

LACK_OF_FIT = 0.4
"""Below this p of the lack-of-fit test the scatter of the dimensions, not of the replicates, sets the interval."""

POWER = 0.8
NO_SLOPE = 10
"""A change of slope that no law in question has: where only larger ones would be found, none would be."""


@dataclass(frozen=True, slots=True)
class Exponent:
    """The slope s of log N* = a + s log d over the tested dimensions: not the asymptotic exponent."""

    value: float
    lo: float
    hi: float
    dims: tuple[int, ...]
    """Dimensions reached: with at least one value that is not censored."""
    replicates: int
    """Values at the dimension that has most."""
    uncensored: int
    """Values known to a point or to a range between tested sizes."""
    censored: int
    """Censored values of all dimensions, kept in the fit as the bounds they are."""
    intercept: float = math.nan
    """a."""
    lack_of_fit_p: float = math.nan
    """Of the power law against one free mean per dimension; nan below 3 dimensions."""
    curvature_p: float = math.nan
    """Of a quadratic term in log d; nan below 3 dimensions."""
    detectable: float = math.nan
    """Smallest change of slope from the first to the last dimension that the curvature test finds with power 80 %:
    2 (log d_K - log d_1) se(b_2) (t_.975 + t_.8), N - 3 degrees of freedom, b_2 the quadratic term."""
    degrees: float = math.nan
    """Of freedom, of the Student's t that gives the interval."""
    method: str = ""
    note: str = ""
    refused: str = ""
    """Why there is no exponent; empty where there is one."""

    @property
    def range(self) -> tuple[int, int] | None:
        """First and last dimension reached."""
        return (self.dims[0], self.dims[-1]) if self.dims else None

    @property
    def curvature(self) -> str:
        """What the test for curvature found and could have found; empty where there is none."""
        if math.isnan(self.curvature_p):
            return ""
        finds = self.detectable < NO_SLOPE
        seen = f"change of slope {self.detectable:.2g}" if finds else f"change of slope: none below {NO_SLOPE}"
        return f"curvature p = {self.curvature_p:.2g}, detectable {seen}"

    def __str__(self) -> str:
        if self.refused:
            return f"no exponent: {self.refused}"
        parts = [f"d = {self.dims[0]}..{self.dims[-1]}", f"{self.uncensored} values and {self.censored} bounds"]
        parts += [part for part in (self.curvature, self.note) if part]
        return f"{self.value:.3g} [{self.lo:.3g}, {self.hi:.3g}] ({'; '.join(parts)})"


def fit_exponent(points: Mapping[int, Sequence[Crossing]]) -> Exponent:
    """The exponent of N* in d from the crossings at each d, which must be independent of each other.

    1. Tobit regression of log N* on log d over all values; standard error times sqrt(n / (n - 2)), t(n - 2), with n the
       number of uncensored values. Where some are ranges, whose likelihood may be flat, the interval is that of the
       profile likelihood, cut where it makes exact values Student's (``t_drop``).
    2. Lack of fit against one mean m_d per dimension reached (K of them), from the ratio of likelihoods:
       F = (e^(2 gain / n) - 1) n / (K - 2) with K - 2 and n - K degrees, of exact values the analysis of variance with
       their variance by maximum likelihood: a little small, which calls for step 3 more often and so errs to the wider
       interval.
    3. If its p is below .4, least squares on the m_d with t(K - 2), never narrower than step 1.

    Covers 93-98 % for K >= 4 with up to half of the values at the last d censored (``analysis.selftest`` measures it).
    Refused, with the reason, where fewer than 2 dimensions are reached, fewer than 2 replicates are to spare beyond one
    per dimension, or the replicates do not differ.
    """
    return _fit({d: [crossing.log_bounds for crossing in found] for d, found in points.items()})


def fit_exponent_beside(points: Mapping[int, Sequence[Crossing]], expected: Mapping[int, float]) -> Exponent:
    """The exponent of N* in d where N* is expected to grow as ``expected``, {d: N > 0}, which is no power of d.

    Fitted as ``fit_exponent`` does is N* / expected, and the slope of log expected over the dimensions reached added:
    with the same replicates at each d it is the same exponent, but how ``expected`` bends is no lack of fit.
    Dimensions at which it is not known, or not finite, are left out.
    """
    logs = {d: math.log(n) for d, n in expected.items() if d in points and 0 < n < math.inf}
    bounds = {d: [crossing.log_bounds for crossing in points[d]] for d in logs}
    found = _fit({d: [(lo - logs[d], hi - logs[d]) for lo, hi in bounds[d]] for d in bounds})
    if found.refused:
        return found
    slope, intercept = np.polyfit(np.log(found.dims), [logs[d] for d in found.dims], 1).tolist()
    return replace(
        found,
        value=found.value + slope,
        lo=found.lo + slope,
        hi=found.hi + slope,
        intercept=found.intercept + intercept,
    )


def compare_exponents(
    points_a: Mapping[int, Sequence[Crossing]], points_b: Mapping[int, Sequence[Crossing]]
) -> Exponent:
    """The exponent of N_B / N_A in d, s_B - s_A, from the same replicates of two learners.

    Far more powerful than to compare two intervals, because what a replicate does to both cancels. Where only one of
    the pair is censored the ratio is; where both are on the same side it is unknown and left out.
    """
    pairs: dict[int, list[tuple[float, float]]] = {}
    for d in points_a.keys() & points_b.keys():
        b = {crossing.replicate: crossing.log_bounds for crossing in points_b[d]}
        pairs[d] = [
            (b[crossing.replicate][0] - crossing.log_bounds[1], b[crossing.replicate][1] - crossing.log_bounds[0])
            for crossing in points_a[d]
            if crossing.replicate in b
        ]
    return _fit(pairs)


def decay(curve: Curve, window: tuple[int, int] | None = None) -> Interval:
    """The exponent b of error ~ n^-b: one least-squares slope per replicate, then a t-interval over replicates.

    ``window`` = (first, last) keeps the sizes in it. Replicates with fewer than 2 values are left out. The points of
    one curve share their sample, so regressions over all points at once give intervals that are far too narrow.
    Raises ``UsageError`` for a metric that may be negative.
    """
    first, last = window or (curve.n[0], curve.n[-1])
    slopes = []
    for log_error in curve.log_values:
        kept = ~np.isnan(log_error) & (curve.n >= first) & (curve.n <= last)
        if kept.sum() >= 2:
            slopes.append(-np.polyfit(np.log(curve.n[kept]), log_error[kept], 1)[0])
    return t_interval(slopes)


@dataclass(frozen=True, slots=True)
class Decay:
    """The exponent b of error ~ n^-b of one curve over all its sizes."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    n_first: int
    n_last: int
    slope: Interval
    """b."""

    def as_dict(self) -> dict[str, Any]:
        """The exponent with its interval as a flat record."""
        return {
            "task": self.task,
            "d": self.d,
            "label": self.label,
            "metric": self.metric,
            "n_first": self.n_first,
            "n_last": self.n_last,
            "decay": self.slope.mean,
            "lo": self.slope.lo,
            "hi": self.slope.hi,
            "replicates": self.slope.count,
        }


def decays(curves: Iterable[Curve]) -> list[Decay]:
    """Of each curve that has one. Errors that may be negative follow no power of n."""
    found = ((curve, decay(curve)) for curve in curves if curve.scale == "log")
    return [
        Decay(curve.task, curve.d, curve.name, curve.metric, int(curve.n[0]), int(curve.n[-1]), slope)
        for curve, slope in found
        if slope.count
    ]


def _fit(bounds: Mapping[int, Sequence[tuple[float, float]]]) -> Exponent:
    d = np.array([d for d in sorted(bounds) for _ in bounds[d]], dtype=int)
    lower, upper = np.array([pair for d in sorted(bounds) for pair in bounds[d]], dtype=float).reshape(-1, 2).T
    known = np.isfinite(lower) & np.isfinite(upper)
    dims, group = np.unique(d[known], return_inverse=True)
    k, n = len(dims), int(known.sum())
    result = Exponent(
        value=math.nan,
        lo=math.nan,
        hi=math.nan,
        dims=tuple(dims.tolist()),
        replicates=max(map(len, bounds.values()), default=0),
        uncensored=n,
        censored=int((~known).sum()),
        note="assumes an exact power law" if k <= 3 else "",
    )
    if reason := _refusal(k, n, lower[known], upper[known], group):
        return replace(result, refused=reason)
    try:
        return _regress(result, d, lower, upper)
    except np.linalg.LinAlgError as error:
        return replace(result, refused=str(error))


def _regress(result: Exponent, d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Exponent:
    """The result with what is fitted to N values of log N*, known to lie in [lower, upper], at d, all (N,)."""
    from scipy.special import fdtrc, stdtrit

    dims, n = np.array(result.dims), result.uncensored
    k = len(dims)
    known = np.isfinite(lower) | np.isfinite(upper)
    d, lower, upper = d[known], lower[known], upper[known]
    log_d = np.log(d)
    centred = log_d - log_d.mean()
    finite = np.isfinite(upper - lower)
    ranges = float((upper - lower)[finite].max())
    least = SAME * ranges
    straight = np.column_stack([np.ones_like(centred), centred])
    line = tobit(straight, lower, upper, least)
    value, degrees, method = float(line.beta[1]), n - 2, "joint Tobit"
    intercept = float(line.beta[0]) - value * float(log_d.mean())
    if ranges:
        lo, hi = profile_interval(straight, lower, upper, 1, t_drop(n, 2), least)
    else:
        half = t_quantile(n - 2) * float(line.errors[1]) * math.sqrt(n / (n - 2))
        lo, hi = value - half, value + half
    result = replace(result, value=value, lo=lo, hi=hi, intercept=intercept, degrees=degrees, method=method)
    if k == 2:
        return result

    reached = np.isin(d, dims)
    free = tobit((d[reached, None] == dims).astype(float), lower[reached], upper[reached], least)
    bound = line if reached.all() else tobit(straight[reached], lower[reached], upper[reached], least)
    lack_of_fit_p = float(fdtrc(k - 2, n - k, _gain(bound, free, n) * n / (k - 2)))
    if lack_of_fit_p < LACK_OF_FIT:
        from scipy.stats import linregress

        fit = linregress(np.log(dims), free.beta)
        half, degrees = max(((hi - lo) / 2, degrees), (t_quantile(k - 2) * float(fit.stderr), k - 2))
        result = replace(
            result,
            value=float(fit.slope),
            lo=float(fit.slope) - half,
            hi=float(fit.slope) + half,
            intercept=float(fit.intercept),
            degrees=degrees,
            method="least squares on the means per d",
        )

    bent = tobit(np.column_stack([straight, centred**2]), lower, upper, least)
    return replace(
        result,
        lack_of_fit_p=lack_of_fit_p,
        curvature_p=two_sided_p(math.sqrt(_gain(line, bent, n) * (n - 3)), n - 3),
        detectable=2
        * math.log(dims[-1] / dims[0])
        * _error_of_bend(bent, n)
        * (t_quantile(n - 3) + float(stdtrit(n - 3, POWER))),
    )


def _gain(bound: Tobit, free: Tobit, n: int) -> float:
    """By how much of itself the residual sum of squares shrinks from one model to a larger one, of n exact values."""
    return math.expm1(2 * max(free.loglik - bound.loglik, 0.0) / n)


def _error_of_bend(bent: Tobit, n: int) -> float:
    """Standard error of the quadratic term; nan where ranges leave the likelihood flat."""
    try:
        return float(bent.errors[2]) * math.sqrt(n / (n - 3))
    except np.linalg.LinAlgError:
        return math.nan


def _refusal(k: int, n: int, lower: np.ndarray, upper: np.ndarray, group: np.ndarray) -> str:
    """Why K dimensions reached by n values, log N* in [lower, upper] (n,) in groups (n,), give no exponent, if so."""
    if k < 2:
        return f"N* must be reached at 2 dimensions or more, and is at {k}; add sizes, dimensions or a higher level"
    if n < k + 2:
        return (
            f"2 replicates or more must be to spare beyond one per dimension, and {n - k} are; add replicates or sizes"
        )
    means = np.bincount(group, lower) / np.bincount(group)
    if (lower == upper).all() and np.allclose(lower, means[group], rtol=0, atol=1e-9):
        return "zero variance: the replicates of each dimension have equal N*; are their random streams different?"
    return ""
