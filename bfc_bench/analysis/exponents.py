"""Exponents of N* in d or along another axis, with intervals that are valid for censored N*."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bfc_bench.analysis.intervals import SAME, t_drop, t_quantile, two_sided_p
from bfc_bench.analysis.thresholds import NStar
from bfc_bench.analysis.tobit import Tobit, profile_interval, tobit
from bfc_bench.suite.axes import is_numeric, value_key

LACK_OF_FIT = 0.4
"""If the lack-of-fit p is smaller, the interval comes from the scatter between dimensions, not between replicates."""

POWER = 0.8
"""Power of the curvature test at the detectable change of slope."""
NO_SLOPE = 10
"""If only larger changes of slope are detectable, the curvature test counts as unable to detect any."""


@dataclass(frozen=True, slots=True)
class Exponent:
    """The slope s of log N* = a + s log d over the tested dimensions, which is not the asymptotic exponent.

    Along another ``axis`` than d, its values stand for the dimensions everywhere.
    """

    value: float = math.nan
    lo: float = math.nan
    hi: float = math.nan
    dims: tuple[Any, ...] = ()
    """Dimensions (integers) with at least one value that is not censored."""
    replicates: int = 0
    """Largest number of values at a dimension."""
    uncensored: int = 0
    """Number of values that are points, or ranges between tested sizes."""
    censored: int = 0
    """Number of censored values, which enter the fit as bounds."""
    intercept: float = math.nan
    """The intercept a."""
    lack_of_fit_p: float = math.nan
    """p of the power law against one free mean per dimension; nan below 3 dimensions."""
    curvature_p: float = math.nan
    """p of a quadratic term in log d; nan below 3 dimensions."""
    detectable: float = math.nan
    """Smallest change of slope from the first to the last dimension that the curvature test detects with power 80 %:
    2 (log d_K - log d_1) se(b_2) (t_.975 + t_.8), with N - 3 degrees of freedom and the quadratic term b_2."""
    degrees: float = math.nan
    """Degrees of freedom of Student's t for the interval."""
    method: str = ""
    note: str = ""
    refused: str = ""
    """Why there is no exponent; empty if there is one."""
    axis: str = "d"
    """What N* grows with: d, or an axis of a grid."""

    @property
    def curvature(self) -> str:
        """Result of the curvature test in words, and what it can detect; empty if there is no test."""
        if math.isnan(self.curvature_p):
            return ""
        change = f" {self.detectable:.2g}" if self.detectable < NO_SLOPE else f": none below {NO_SLOPE}"
        return f"curvature p = {self.curvature_p:.2g}, detectable change of slope{change}"


def fit_exponent(
    points: Mapping[Any, Sequence[NStar]], axis: str = "d", expected: Mapping[Any, float] | None = None
) -> Exponent:
    """The exponent of N* in d, or along another axis with positive values, from independent crossings at each d.

    1. Tobit regression of log N* on log d over all values. With n uncensored values, the standard error is multiplied
       by sqrt(n / (n - 2)) and the interval uses t(n - 2). If some values are ranges, whose likelihood may be flat, the
       interval is that of the profile likelihood (``t_drop``).
    2. Lack of fit against one mean m_d for each of the K dimensions reached, from the likelihood ratio:
       F = (e^(2 gain / n) - 1) n / (K - 2) with K - 2 and n - K degrees of freedom. For exact values this is the
       analysis of variance with the variance by maximum likelihood, which is a little small. Step 3 is then taken more
       often than necessary, which errs towards the wider interval.
    3. If p of the lack of fit is below .4: least squares on the m_d with t(K - 2), never narrower than step 1.

    The interval covers 93-98 % for K >= 4 with up to half of the values at the last d censored (measured by
    ``benchmarks.coverage``). There is no exponent, and ``refused`` has the reason, if fewer than 2 dimensions are
    reached, there are fewer than K + 2 values, or the replicates do not differ.

    If N* is expected to grow as ``expected``, {d: N > 0}, which is no power of d, the steps are applied to
    N* / expected, and the slope of log expected over the dimensions reached is added. With equally many replicates at
    each d the exponent is the same, but the bend of ``expected`` does not count as lack of fit. Dimensions without a
    finite expected N are left out.
    """
    bounds = {d: [crossing.log_bounds for crossing in crossings] for d, crossings in points.items()}
    if not expected:
        return _fit(bounds, axis)
    logs = {d: math.log(n) for d, n in expected.items() if d in points and 0 < n < math.inf}
    fit = _fit({d: [(lo - logs[d], hi - logs[d]) for lo, hi in bounds[d]] for d in logs}, axis)
    if fit.refused:
        return fit
    slope, intercept = np.polyfit(np.log(fit.dims), [logs[d] for d in fit.dims], 1).tolist()
    value, lo, hi = (x + slope for x in (fit.value, fit.lo, fit.hi))
    return replace(fit, value=value, lo=lo, hi=hi, intercept=fit.intercept + intercept)


def compare_exponents(
    points_a: Mapping[Any, Sequence[NStar]], points_b: Mapping[Any, Sequence[NStar]], axis: str = "d"
) -> Exponent:
    """The exponent of N_B / N_A in d, s_B - s_A, from the same replicates of two learners.

    Effects of a replicate on both learners cancel, so this is far more powerful than comparing two intervals. If one of
    the pair is censored, so is the ratio. If both are censored on the same side, the pair is left out.
    """
    pairs: dict[Any, list[tuple[float, float]]] = {}
    for d in points_a.keys() & points_b.keys():
        b = {crossing.replicate: crossing.log_bounds for crossing in points_b[d]}
        pairs[d] = [
            (b[crossing.replicate][0] - crossing.log_bounds[1], b[crossing.replicate][1] - crossing.log_bounds[0])
            for crossing in points_a[d]
            if crossing.replicate in b
        ]
    return _fit(pairs, axis)


def _fit(bounds: Mapping[Any, Sequence[tuple[float, float]]], axis: str) -> Exponent:
    if wrong := [value for value in bounds if not (is_numeric(value) and value > 0)]:
        reason = f"{axis} must have positive numbers as values, and has {value_key(wrong[0])}"
        return Exponent(refused=reason, axis=axis)
    d = np.array([d for d in sorted(bounds) for _ in bounds[d]])
    lower, upper = np.array([pair for d in sorted(bounds) for pair in bounds[d]], dtype=float).reshape(-1, 2).T
    exact = np.isfinite(lower) & np.isfinite(upper)
    dims, group = np.unique(d[exact], return_inverse=True)
    k, n = len(dims), int(exact.sum())
    result = Exponent(
        dims=tuple(dims.tolist()),
        replicates=max(map(len, bounds.values()), default=0),
        uncensored=n,
        censored=int((np.isfinite(lower) ^ np.isfinite(upper)).sum()),
        note="assumes an exact power law" if k <= 3 else "",
        axis=axis,
    )
    if reason := _refusal(k, n, lower[exact], upper[exact], group, axis):
        return replace(result, refused=reason)
    try:
        return _regress(result, d, lower, upper)
    except np.linalg.LinAlgError as error:
        return replace(result, refused=str(error))


def _regress(result: Exponent, d: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Exponent:
    """The result with the fit to N values of log N* in [lower, upper], at dimensions d, all (N,)."""
    from scipy.special import fdtrc, stdtrit

    dims, k, n = np.array(result.dims), len(result.dims), result.uncensored
    bounded = np.isfinite(lower) | np.isfinite(upper)
    d, lower, upper = d[bounded], lower[bounded], upper[bounded]
    log_d = np.log(d)
    centred = log_d - log_d.mean()
    straight = np.column_stack([np.ones_like(centred), centred])
    widest = float((upper - lower)[np.isfinite(upper - lower)].max())
    least_sigma = SAME * widest
    line = tobit(straight, lower, upper, least_sigma)
    value = float(line.beta[1])
    if widest:
        lo, hi = profile_interval(line, straight, lower, upper, 1, t_drop(n, 2), least_sigma)
    else:
        half = t_quantile(n - 2) * float(line.errors[1]) * math.sqrt(n / (n - 2))
        lo, hi = value - half, value + half
    intercept = float(line.beta[0]) - value * float(log_d.mean())
    result = replace(result, value=value, lo=lo, hi=hi, intercept=intercept, degrees=n - 2, method="joint Tobit")
    if k == 2:
        return result

    reached = np.isin(d, dims)
    free = tobit((d[reached, None] == dims).astype(float), lower[reached], upper[reached], least_sigma)
    bound = line if reached.all() else tobit(straight[reached], lower[reached], upper[reached], least_sigma)
    lack_of_fit_p = float(fdtrc(k - 2, n - k, _gain(bound, free, n) * n / (k - 2)))
    if lack_of_fit_p < LACK_OF_FIT:
        result = _through_means(result, free.beta)

    bent = tobit(np.column_stack([straight, centred**2]), lower, upper, least_sigma)
    curvature_p = two_sided_p(math.sqrt(_gain(line, bent, n) * (n - 3)), n - 3)
    error = float(bent.errors[2]) * math.sqrt(n / (n - 3))  # nan if ranges leave the likelihood flat
    quantiles = t_quantile(n - 3) + float(stdtrit(n - 3, POWER))
    detectable = 2 * math.log(dims[-1] / dims[0]) * error * quantiles
    return replace(result, lack_of_fit_p=lack_of_fit_p, curvature_p=curvature_p, detectable=detectable)


def _through_means(line: Exponent, means: np.ndarray) -> Exponent:
    """The exponent by least squares on the mean log N* of each dimension (K,), no narrower than the ``line`` of all."""
    from scipy.stats import linregress

    fit, k = linregress(np.log(line.dims), means), len(means)
    half, degrees = max(((line.hi - line.lo) / 2, line.degrees), (t_quantile(k - 2) * float(fit.stderr), k - 2))
    value, intercept, method = float(fit.slope), float(fit.intercept), f"least squares on the means per {line.axis}"
    lo, hi = value - half, value + half
    return replace(line, value=value, lo=lo, hi=hi, intercept=intercept, degrees=degrees, method=method)


def _gain(bound: Tobit, free: Tobit, n: int) -> float:
    """S / S' - 1 for the residual sums of squares S of a model and S' of a larger one, of n exact values."""
    return math.expm1(2 * max(free.loglik - bound.loglik, 0.0) / n)


def _refusal(k: int, n: int, lower: np.ndarray, upper: np.ndarray, group: np.ndarray, axis: str) -> str:
    """Why n values of log N* in [lower, upper] at k dimensions give no exponent; empty if they do. Arrays are (n,)."""
    dimension, dimensions = ("dimension", "dimensions") if axis == "d" else (f"value of {axis}", f"values of {axis}")
    if k < 2:
        return f"N* must be reached at 2 {dimensions} or more, and is at {k}; add sizes, {dimensions} or a higher level"
    if n < k + 2:
        return (
            f"2 replicates or more are needed beyond one per {dimension}, and there are {n - k}; "
            "add replicates or sizes"
        )
    means = np.bincount(group, lower) / np.bincount(group)
    if (lower == upper).all() and np.allclose(lower, means[group], rtol=0, atol=1e-9):
        return f"zero variance: the replicates of each {dimension} have equal N*; are their random streams different?"
    return ""
