"""Laws of learning curves: error ~ c + sum_j a_j x_j^-b_j in n, or in n and a second number, with intervals.

The mean log errors over replicates are fitted, with a floor c >= 0 that is always estimated. The points of a replicate
share its teacher and its sample, so intervals come from the spread between replicates: Student's t of one value per
replicate, which says what the replicate does to an estimate. There are two such values, and those with the larger
spread count: pseudo-values R x - (R - 1) x_(r) of the delete-one jackknife (Tukey 1958), where x_(r) is the estimate
without replicate r, and the estimate's derivative times the replicate's residuals, which allows for a floor that the
fit does not show.

Shapes: R replicates, K points, J axes, P = 2 J + 1 parameters h_1, b_1, ..., h_J, b_J, c with a_j = e^h_j.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval, t_interval
from bfc_bench.store.row import COLUMNS, Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.axes import is_numeric

HUBER = 0.1
"""Larger residuals of log error count linearly instead of squared, so that one bad size does not bend a fit."""
EXPONENTS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Exponents b of the grid whose best point is where a fit starts."""
EXTREME = (1e-2, 20.0)
"""Exponents outside this range, for all replicates or without one of them, are not identified by the errors."""
LEAST_FLOOR = 1e-3
"""Smallest floor that a fit starts from, as a share of the smallest error."""
MIN_SIZES = 5
"""Fewest sizes n of a law in n alone."""
MIN_JOINT_N, MIN_SECOND = 4, 3
"""Fewest sizes n, and fewest values of the second number, of a joint law."""
MIN_REPLICATES = 3
"""With fewer replicates there is no interval."""
VISIBLE = 0.1
"""A term counts at the sizes where it is at least this share of the fitted error."""
EQUAL = 1e-9
"""Logarithms that differ by less are equal."""
RANK = 1e-8
"""Smaller singular values, over the largest, count as zero."""
DECADE = 10.0
"""Sizes within this factor of the largest are held out for the extrapolation, if enough smaller ones remain."""


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """The measured error at the largest sizes, over the one that the law of the smaller sizes predicts."""

    at: Mapping[str, float] | None = None
    """The point, by axis."""
    ratio: Interval = NOTHING
    """Measured over predicted error; 1 if the law goes on."""
    refused: str = ""
    """Why there is none; empty if there is one."""

    def __str__(self) -> str:
        if self.refused or self.at is None:
            return f"no extrapolation: {self.refused}"
        place = ", ".join(f"{name} = {value:,.6g}" for name, value in self.at.items())
        return f"measured / predicted = {self.ratio} at {place}"


@dataclass(frozen=True, slots=True, eq=False)
class ScalingLaw:
    """The fitted law of one learner or of a family of learners, with intervals over replicates."""

    task: str
    label: str
    """``LABEL``, ``LABEL/STAGE``, or several labels."""
    metric: str
    ranges: Mapping[str, tuple[float, float]]
    """Smallest and largest size by axis: of ``n``, and of a second number first if there is one."""
    d: int | None = None
    """Input dimension; None if the points differ in it."""
    replicates: int = 0
    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    """One value of b per replicate, (R,), by axis; their mean is the fitted b."""
    floor: Interval = NOTHING
    """c; its interval begins at 0 where the errors show no floor."""
    lack_of_fit_p: float = math.nan
    """p of the law against one free mean per point; nan if no degree of freedom is left."""
    extrapolation: Extrapolation = Extrapolation(refused="there is no fit")
    refused: str = ""
    """Why there is no law; empty if there is one."""

    @property
    def exponents(self) -> dict[str, Interval]:
        """b with its t-interval, by axis; empty if there is no law."""
        return {name: t_interval(values) for name, values in self.values.items()}

    def as_dict(self) -> dict[str, Any]:
        """The law as a flat record, with ``exponent_AXIS`` and its interval for each axis; missing numbers are nan."""
        record: dict[str, Any] = {"task": self.task, "d": self.d, "label": self.label, "metric": self.metric}
        for name, (first, last) in self.ranges.items():
            b = self.exponents.get(name, NOTHING)
            record |= {f"{name}_first": first, f"{name}_last": last} | b.columns(f"exponent_{name}")
        record |= self.floor.columns("floor") | {"replicates": self.replicates, "lack_of_fit_p": self.lack_of_fit_p}
        record |= self.extrapolation.ratio.columns("extrapolation")
        return record | {"note": self.refused or self.extrapolation.refused}


def scaling_laws(curves: Iterable[Curve]) -> list[ScalingLaw]:
    """The law in n of each curve; errors that may be negative follow no power of n and are left out."""
    return [law_of_curves([curve]) for curve in curves if curve.scale == "log"]


def law_of(
    rows: Iterable[Row], curves: Sequence[Curve], second: str | None = None, over_log: bool = False
) -> ScalingLaw:
    """The law of the curves of these rows: in n for a single curve, or jointly in n and a ``second`` number.

    The second number is ``parameters`` (as the learners declare them), ``d``, or the name of an axis of the grid.
    ``over_log`` says whether n / log n takes the place of n. Raises ``UsageError`` if the metric may be negative.
    """
    if second is None:
        return law_of_curves(curves, over_log=over_log)
    law = ScalingLaw("", ", ".join(curve.name for curve in curves), "", {})
    if not curves:
        return replace(law, refused="no curves")
    rows = Rows.of(rows)
    values = [_second_number(rows, curve, second) for curve in curves]
    for curve, value in zip(curves, values, strict=True):
        if len(value) != 1 or not value[0] > 0:
            listed = ", ".join(f"{v:g}" for v in value[:3]) or "none"
            place = f"{curve.name} on {curve.task}, d = {curve.d}"
            return replace(law, refused=f"{place} must have one positive number {second!r}; it has {listed}")
    return law_of_curves(curves, {second: [value[0] for value in values]}, over_log)


def _second_number(rows: Rows, curve: Curve, second: str) -> list[float]:
    """The distinct values of a number of the rows of a curve, ascending."""
    if second not in COLUMNS:
        return [float(curve.axes[second])] if is_numeric(curve.axes.get(second)) else []
    values = rows.where(task=curve.task, label=curve.label, d=curve.d, status="ok").number(second)
    return [float(value) for value in np.unique(values[~np.isnan(values)])]


def law_of_curves(
    curves: Sequence[Curve], second: Mapping[str, Sequence[float]] = {}, over_log: bool = False
) -> ScalingLaw:
    """The law of curves of one metric that differ in a ``second`` number, given by its name with one value per curve.

    Curves are paired by replicate: what a replicate has in common, such as its teacher, is not counted twice. Sizes at
    which few replicates have a value are left out, because they were added for single claims, and so are those that
    single replicates have for their N*.
    """
    common = sorted(set.intersection(*(set(curve.replicates) for curve in curves)))
    errors, sizes = [], []
    for curve in curves:
        counts = np.isfinite(curve.values[curve.has_enough_sizes]).sum(axis=0)
        complete = curve.shared & (2 * counts > max(counts.max(initial=0), 1))
        errors.append(curve.log_values[[curve.replicates.index(r) for r in common]][:, complete])
        sizes.append(curve.n[complete].astype(float))
    points = [len(n) for n in sizes]
    axes = {name: np.repeat(values, points) for name, values in second.items()} | {"n": np.concatenate(sizes)}
    dims = {curve.d for curve in curves}
    return replace(
        fit_scaling_law(axes, np.concatenate(errors, axis=1), over_log),
        task=", ".join(dict.fromkeys(curve.task for curve in curves)),
        d=dims.pop() if len(dims) == 1 else None,
        label=", ".join(dict.fromkeys(curve.name for curve in curves)),
        metric=curves[0].metric,
    )


def fit_scaling_law(axes: Mapping[str, np.ndarray], log_errors: np.ndarray, over_log: bool = False) -> ScalingLaw:
    """Fit error ~ c + sum_j a_j x_j^-b_j, with the test of its form and the prediction of its largest sizes.

    1. The means over replicates of the log errors are fitted (Huber loss). Replicates without a value at some point are
       left out, because the others would then be compared with themselves at other points.
    2. The fit is repeated without each replicate, for the intervals. ``benchmarks.coverage`` measures their coverage.
    3. Lack of fit: mean residuals, less what the parameters can follow, against their covariance S between replicates:
       F = R |m|^2 / tr S with f = (tr S)^2 / tr S^2 and f (R - 1) degrees of freedom (Box 1954).
    4. The largest sizes are predicted from the others (``Extrapolation``).

    Args:
        axes: Sizes by name, (K,) each and positive.
        log_errors: Logarithms of the errors, (R, K); nan where there is none.
        over_log: Whether the law is one in n / log n instead of n.

    Returns:
        The law, or the reason why there is none: too few replicates or sizes, equal errors, a floor that hides a term,
        or exponents that the errors do not determine.
    """
    y = log_errors[np.isfinite(log_errors).all(axis=1)]
    ranges = {name: (float(x.min(initial=math.inf)), float(x.max(initial=0.0))) for name, x in axes.items()}
    law = ScalingLaw("", "", "", ranges, replicates=len(y))
    if reason := _refusal(axes, y):
        return replace(law, refused=reason)
    logs = np.log([*axes.values()])
    if over_log:
        if (least := axes["n"].min()) < math.e:
            return replace(law, refused=f"n / log n rises from n = 3 on, and there is n = {least:g}")
        logs[[*axes].index("n")] -= np.log(np.log(axes["n"]))
    logs -= logs.mean(axis=1, keepdims=True)
    fit = _Fit.of(logs, y)
    if reason := fit.refusal(axes):
        return replace(law, refused=reason)
    floor = t_interval(fit.values(-1))
    return replace(
        law,
        values={name: fit.values(2 * j + 1) for j, name in enumerate(axes)},
        floor=replace(floor, lo=max(floor.lo, 0.0)),
        lack_of_fit_p=_lack_of_fit(logs, fit.p, y),
        extrapolation=_extrapolation(axes, logs, y, fit.p),
    )


@dataclass(frozen=True)
class _Fit:
    """The parameters for all replicates, without each of them, and what each does to them to first order."""

    logs: np.ndarray
    """Centred logarithms of the sizes, (J, K)."""
    p: np.ndarray
    """(P,)."""
    without: np.ndarray
    """(R, P)."""
    influence: np.ndarray
    """(R, P)."""

    @classmethod
    def of(cls, logs: np.ndarray, y: np.ndarray) -> _Fit:
        """The fits to log errors y (R, K)."""
        p = fit_law(logs, y.mean(axis=0))
        without = np.array([fit_law(logs, mean, near=p) for mean in _without_each(y)])
        return cls(logs, p, without, (y - log_law(logs, p)) @ _inverse(_slopes(logs, p)).T)

    def values(self, i: int) -> np.ndarray:
        """One value per replicate of a parameter, (R,)."""
        return _wider(float(self.p[i]), self.without[:, i], self.influence[:, i])

    def refusal(self, axes: Mapping[str, np.ndarray]) -> str:
        """Why the fit gives no law; empty if it does."""
        shares = _shares(self.logs, self.p)
        for j, (name, x) in enumerate(axes.items()):
            seen = len(np.unique(x[shares[j] >= VISIBLE]))
            least = 3 if len(axes) == 1 or name == "n" else 2
            if seen < least:
                return (
                    f"the floor or another term dominates: the power of {name} is {VISIBLE:.0%} or more of the error "
                    f"at {seen} sizes, and {least} are needed; add smaller {name}"
                )
            exponents = np.append(self.without[:, 2 * j + 1], self.p[2 * j + 1])
            if not ((exponents > EXTREME[0]) & (exponents < EXTREME[1])).all():
                return (
                    f"the exponent of {name} is not identified: it lies between {exponents.min():.2g} and "
                    f"{exponents.max():.2g} when one replicate at a time is left out; add sizes or replicates"
                )
        return ""


def fit_law(logs: np.ndarray, y: np.ndarray, near: np.ndarray | None = None) -> np.ndarray:
    """Parameters (P,) with the least Huber loss of log errors y (K,), at sizes with logarithms ``logs`` (J, K).

    The search starts ``near`` parameters, or from the best point of a grid of exponents: for given exponents the law is
    linear in a and c, and its relative errors have a least-squares solution with a, c >= 0.
    """
    from scipy.optimize import least_squares

    start = _grid_start(logs, y) if near is None else near.copy()
    start[-1] = max(start[-1], LEAST_FLOOR * math.exp(y.min()))
    low, high = (
        [*[end, b] * len(logs), c] for end, b, c in ((-np.inf, EXTREME[0] / 2, 0.0), (np.inf, 2 * EXTREME[1], np.inf))
    )
    fit = least_squares(
        lambda p: log_law(logs, p) - y, start, lambda p: _slopes(logs, p),
        bounds=(low, high), x_scale="jac", loss="huber", f_scale=HUBER, xtol=1e-9, ftol=1e-9, gtol=1e-9,
    )  # fmt: skip
    return np.asarray(fit.x)


def _grid_start(logs: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The best point (P,) of the grid of exponents."""
    from scipy.optimize import nnls

    starts = []
    for exponents in product(EXPONENTS, repeat=len(logs)):
        terms = np.exp(np.vstack([-np.array(exponents)[:, None] * logs, np.zeros(len(y))]) - y)
        sizes = np.linalg.norm(terms, axis=1)
        scales, loss = nnls((terms / sizes[:, None]).T, np.ones(len(y)))
        starts.append((loss, exponents, scales / sizes))
    _, exponents, scales = min(starts, key=lambda point: point[0])
    heights = np.log(np.maximum(scales[:-1], LEAST_FLOOR * math.exp(y.min())))
    return np.array([*chain.from_iterable(zip(heights, exponents, strict=True)), scales[-1]])


def _without_each(y: np.ndarray) -> np.ndarray:
    """Means over all replicates but one, (R, K), of values y (R, K)."""
    return np.asarray((y.sum(axis=0) - y) / (len(y) - 1))


def _wider(whole: float, without: np.ndarray, influence: np.ndarray) -> np.ndarray:
    """One value per replicate of an estimate, with the mean ``whole``, (R,): pseudo-values from the estimates
    ``without`` each, or what each does to it to first order, whichever has the larger spread.
    """
    pseudo = (1 - len(without)) * without
    values = max(pseudo, influence, key=np.std)
    return np.asarray(whole + values - values.mean())


def _refusal(axes: Mapping[str, np.ndarray], y: np.ndarray) -> str:
    """Why log errors y (R, K) cannot be fitted; empty if they can."""
    replicates, points = y.shape
    if replicates < MIN_REPLICATES:
        return f"replicates with a value: {replicates}; at least {MIN_REPLICATES} are needed"
    for name, x in axes.items():
        if (sizes := len(set(x))) < (least := _least(axes, name)):
            return f"a law needs {least} or more different {name}, and there are {sizes}"
    if points < 2 * len(axes) + 2:
        return f"{points} points do not determine {len(axes)} powers and a floor"
    if float(np.ptp(y, axis=0).max()) <= EQUAL:
        return "zero variance: the value is the same in every replicate; are their random streams different?"
    return "all errors are equal, so they follow no power" if float(np.ptp(y.mean(axis=0))) <= EQUAL else ""


def _least(axes: Mapping[str, np.ndarray], name: str) -> int:
    """Fewest different sizes of an axis."""
    if len(axes) == 1:
        return MIN_SIZES
    return MIN_JOINT_N if name == "n" else MIN_SECOND


def log_law(logs: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Logarithm of the law at the points, (K,), for parameters p (P,)."""
    return np.asarray(np.logaddexp.reduce(_log_terms(logs, p)))


def _log_terms(logs: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Logarithms of each power and of the floor, (J + 1, K)."""
    powers = p[:-1:2, None] - p[1::2, None] * logs
    return np.vstack([powers, np.full(logs.shape[1], math.log(p[-1]) if p[-1] > 0 else -math.inf)])


def _shares(logs: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Share of each power and of the floor in the law, (J + 1, K), for parameters p (P,)."""
    return np.asarray(np.exp(_log_terms(logs, p) - log_law(logs, p)))


def _slopes(logs: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Derivatives (K, P) of the log law by its parameters, at p (P,).

    That by c does not vanish at c = 0, where the errors do not show a floor but may have one.
    """
    powers = _shares(logs, p)[:-1]
    columns = chain.from_iterable(zip(powers, -logs * powers, strict=True))
    return np.array([*columns, np.exp(-log_law(logs, p))]).T


def _inverse(slopes: np.ndarray) -> np.ndarray:
    """Pseudo-inverse (P, K) of derivatives (K, P), whose columns may be of very different size; nan if one vanishes."""
    sizes = np.linalg.norm(slopes, axis=0)
    if not ((sizes > 0) & np.isfinite(sizes)).all():
        return np.full(slopes.T.shape, math.nan)
    return np.asarray(np.linalg.pinv(slopes / sizes, rcond=RANK) / sizes[:, None])


def _lack_of_fit(logs: np.ndarray, p: np.ndarray, y: np.ndarray) -> float:
    """p of the law with parameters p (P,) against one free mean per point, from log errors y (R, K)."""
    from scipy.special import fdtrc

    slopes = _slopes(logs, p)
    basis, sizes, _ = np.linalg.svd(slopes / np.linalg.norm(slopes, axis=0), full_matrices=False)
    basis = basis[:, sizes > RANK * sizes[0]]
    residuals = y - log_law(logs, p)
    residuals = residuals - (residuals @ basis) @ basis.T
    mean = residuals.mean(axis=0)
    centred = residuals - mean
    gram = centred @ centred.T / (len(y) - 1)  # (R, R), with the eigenvalues of the covariance of the points
    trace, square = float(np.trace(gram)), float((gram * gram).sum())
    if not square > 0:
        return math.nan
    freedom = trace**2 / square
    return float(fdtrc(freedom, freedom * (len(y) - 1), len(y) * float(mean @ mean) / trace))


def _extrapolation(axes: Mapping[str, np.ndarray], logs: np.ndarray, y: np.ndarray, p: np.ndarray) -> Extrapolation:
    """The error at the largest sizes over that of the law fitted to the smaller ones, from log errors y (R, K).

    With the slopes S of the log law by its parameters at the smaller sizes and s at the largest, a least-squares fit to
    errors y' at the smaller sizes predicts to first order s S^+ y', where S^+ is the pseudo-inverse. S and s are taken
    at the parameters ``p`` (P,) of all points: a floor that only the largest sizes show bends no fit of the smaller
    ones, but it limits what they predict.
    """
    if len(set(axes["n"])) <= _least(axes, "n"):
        return Extrapolation(refused=f"it needs more than {_least(axes, 'n')} sizes n")
    fitted = np.all([x <= _largest_fitted(np.unique(x), _least(axes, name)) for name, x in axes.items()], axis=0)
    smaller = {name: x[fitted] for name, x in axes.items()}
    reason = _refusal(smaller, y[:, fitted])
    fit = None if reason else _Fit.of(logs[:, fitted], y[:, fitted])
    if fit is None or (reason := fit.refusal(smaller)):
        return Extrapolation(refused=f"without the largest sizes, {reason}")
    order = np.lexsort([x[~fitted] for x in axes.values()])  # by n, then by the second number
    last = int(np.flatnonzero(~fitted)[order[-1]])
    largest, slopes = logs[:, [last]], _slopes(logs, p)
    excess = float(y[:, last].mean() - log_law(largest, fit.p)[0])
    without = _without_each(y)[:, last] - [log_law(largest, parameters)[0] for parameters in fit.without]
    influence = y[:, last] - y[:, fitted] @ (slopes[last] @ _inverse(slopes[fitted]))
    ratio = t_interval(_wider(excess, without, influence)).exp()
    return Extrapolation({name: float(x[last]) for name, x in axes.items()}, ratio)


def _largest_fitted(sizes: np.ndarray, least: int) -> float:
    """The largest of ascending ``sizes`` to fit, so that the last decade is held out but ``least`` sizes are left."""
    below = int((sizes <= sizes[-1] / DECADE).sum())
    return float(sizes[min(max(below, least), len(sizes)) - 1])
