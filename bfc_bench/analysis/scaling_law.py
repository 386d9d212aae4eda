"""Scaling laws error ~ c + sum_j a_j x_j^-b_j in n, or in n and a second number, fitted to all replicates together.

The mean log errors of the points are fitted, with a floor c >= 0 that is always estimated. The points of a replicate
share its teacher and its sample, so intervals come from the spread between replicates: Student's t of one value per
replicate, which says what the replicate does to an estimate. There are two such values, and those with the larger
spread count: pseudo-values R x - (R - 1) x_(r) of the delete-one jackknife (Tukey 1958), where x_(r) is the estimate
without replicate r, and the estimate's derivative times the replicate's residuals, which allows for a floor that the
fit does not show.

Shapes: R replicates, K points, J axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval, t_interval
from bfc_bench.analysis.power_law import MIN_SIZES, fit_with_floor
from bfc_bench.errors import UsageError
from bfc_bench.store.row import COLUMNS, Row
from bfc_bench.store.rows import Rows

MIN_REPLICATES = 3
"""With fewer replicates there is no interval."""
MIN_JOINT_N, MIN_SECOND = 4, 3
"""Fewest sizes n, and fewest values of the second number, of a joint law."""
VISIBLE = 0.1
"""A term counts at the sizes where it is at least this share of the fitted error."""
EXTREME = (1e-2, 20.0)
"""Exponents outside this range, for all replicates or without one of them, are not identified by the errors."""
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
    fitted_to: Mapping[str, float] | None = None
    """The largest size by axis that the fit used."""
    ratio: Interval = NOTHING
    """Measured over predicted error; 1 if the law goes on."""
    refused: str = ""
    """Why there is none; empty if there is one."""

    def __str__(self) -> str:
        if self.refused or self.at is None:
            return f"no extrapolation: {self.refused}"
        where = ", ".join(f"{name} = {value:,.6g}" for name, value in self.at.items())
        return f"measured / predicted = {self.ratio} at {where}"


@dataclass(frozen=True, slots=True)
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
    exponents: Mapping[str, Interval] | None = None
    """b by axis."""
    values: Mapping[str, tuple[float, ...]] | None = None
    """One value of b per replicate, by axis; ``exponents`` has their mean, the fitted b, and their t-interval."""
    floor: Interval = NOTHING
    """c; its interval begins at 0 where the errors show no floor."""
    scales: Mapping[str, float] | None = None
    """a by axis."""
    lack_of_fit_p: float = math.nan
    """p of the law against one free mean per point; nan if no degree of freedom is left."""
    extrapolation: Extrapolation = Extrapolation(refused="there is no fit")
    refused: str = ""
    """Why there is no law; empty if there is one."""

    def __call__(self, sizes: Mapping[str, np.ndarray]) -> np.ndarray:
        """The error at ``sizes`` by axis, arrays of one shape; raises ``UsageError`` if there is no law."""
        if self.exponents is None or self.scales is None:
            raise UsageError(f"{self.label}: there is no scaling law, because {self.refused}.")
        terms = (self.scales[name] * sizes[name] ** -b.mean for name, b in self.exponents.items())
        return np.asarray(max(self.floor.mean, 0.0) + sum(terms))

    def __str__(self) -> str:
        if self.refused or self.exponents is None:
            return f"no scaling law: {self.refused}"
        powers = [f"{name}: b = {b}" for name, b in self.exponents.items()]
        return "; ".join([*powers, f"floor {self.floor}", self.checks])

    @property
    def checks(self) -> str:
        """The test of the law's form and its extrapolation, in words."""
        return f"lack of fit p = {self.lack_of_fit_p:.2g}; {self.extrapolation}"

    def as_dict(self) -> dict[str, Any]:
        """The law as a flat record, with ``exponent_AXIS`` and its interval for each axis; missing numbers are nan."""
        record: dict[str, Any] = {"task": self.task, "d": self.d, "label": self.label, "metric": self.metric}
        for name, (first, last) in self.ranges.items():
            b = NOTHING if self.exponents is None else self.exponents[name]
            record |= {f"{name}_first": first, f"{name}_last": last}
            record |= {f"exponent_{name}": b.mean, f"exponent_{name}_lo": b.lo, f"exponent_{name}_hi": b.hi}
        ratio = self.extrapolation.ratio
        return record | {
            "floor": self.floor.mean,
            "floor_lo": self.floor.lo,
            "floor_hi": self.floor.hi,
            "replicates": self.replicates,
            "lack_of_fit_p": self.lack_of_fit_p,
            "extrapolation": ratio.mean,
            "extrapolation_lo": ratio.lo,
            "extrapolation_hi": ratio.hi,
            "note": "; ".join(filter(None, (self.refused, "" if self.refused else self.extrapolation.refused))),
        }


def scaling_laws(curves: Iterable[Curve]) -> list[ScalingLaw]:
    """The law in n of each curve; errors that may be negative follow no power of n and are left out."""
    return [law_in_n(curve) for curve in curves if curve.scale == "log"]


def law_in_n(curve: Curve) -> ScalingLaw:
    """The law error ~ c + a n^-b of one curve. Raises ``UsageError`` for a metric that may be negative."""
    kept = _replicated(curve)
    law = fit_scaling_law({"n": curve.n[kept].astype(float)}, curve.log_values[:, kept])
    return replace(law, task=curve.task, d=curve.d, label=curve.name, metric=curve.metric)


def joint_law(curves: Sequence[Curve], values: Sequence[float], name: str) -> ScalingLaw:
    """The law error ~ c + a M^-p + b n^-q of curves that differ in a number M, such as their learners' parameters.

    Curves are paired by replicate: what a replicate has in common, such as its teacher, is not counted twice.

    Args:
        curves: One curve of one metric or more.
        values: M of each curve, positive.
        name: Name of M.

    Raises:
        UsageError: If the metric may be negative.
    """
    common = sorted(set.intersection(*(set(curve.replicates) for curve in curves)))
    columns, m, n = [], [], []
    for curve, value in zip(curves, values, strict=True):
        kept = _replicated(curve)
        lines = [curve.replicates.index(replicate) for replicate in common]
        columns.append(curve.log_values[lines][:, kept])
        m.append(np.full(int(kept.sum()), float(value)))
        n.append(curve.n[kept].astype(float))
    law = fit_scaling_law({name: np.concatenate(m), "n": np.concatenate(n)}, np.concatenate(columns, axis=1))
    dims = {curve.d for curve in curves}
    return replace(
        law,
        task=", ".join(dict.fromkeys(curve.task for curve in curves)),
        d=dims.pop() if len(dims) == 1 else None,
        label=", ".join(dict.fromkeys(curve.name for curve in curves)),
        metric=curves[0].metric,
    )


def law_of(rows: Iterable[Row], curves: Sequence[Curve], second: str | None = None) -> ScalingLaw:
    """The law of the curves of these rows: in n for a single curve, or jointly in n and a ``second`` number.

    Args:
        rows: Rows of one version of a suite.
        curves: Curves of one metric, from these rows.
        second: None for the law in n; else ``parameters`` (as the learners declare them), ``d``, or the name of an axis
            of the grid.

    Raises:
        UsageError: If the metric may be negative.
    """
    if len(curves) == 1 and second is None:
        return law_in_n(curves[0])
    law = ScalingLaw("", ", ".join(curve.name for curve in curves), "", {})
    if second is None or not curves:
        return replace(law, refused=f"one curve is expected, and there are {len(curves)}" if curves else "no curves")
    rows = Rows.of(rows)
    values = [_second_number(rows, curve, second) for curve in curves]
    for curve, value in zip(curves, values, strict=True):
        if len(value) != 1 or not value[0] > 0:
            shown = ", ".join(f"{v:g}" for v in value[:3]) or "none"
            where = f"{curve.name} on {curve.task}, d = {curve.d}"
            return replace(law, refused=f"{where} must have one positive number {second!r}; it has {shown}")
    return joint_law(curves, [value[0] for value in values], second)


def _second_number(rows: Rows, curve: Curve, second: str) -> list[float]:
    """The distinct values of a number of the rows of a curve, ascending."""
    of_curve = rows.where(task=curve.task, label=curve.label, d=curve.d, status="ok")
    path = (second,) if second in COLUMNS else ("axes", second)
    values = of_curve.d.astype(float) if second == "d" else of_curve.number(*path)
    found: list[float] = np.unique(values[~np.isnan(values)]).tolist()
    return found


def _replicated(curve: Curve) -> np.ndarray:
    """Mask (K,) of the sizes that most replicates have a value at; others were added for single claims."""
    counts = np.isfinite(curve.values).sum(axis=0)
    return np.asarray(2 * counts > max(counts.max(initial=0), 1))


def fit_scaling_law(axes: Mapping[str, np.ndarray], log_errors: np.ndarray) -> ScalingLaw:
    """Fit error ~ c + sum_j a_j x_j^-b_j, with the test of its form and the prediction of its largest sizes.

    1. The means over replicates of the log errors are fitted (Huber loss). Replicates without a value at some point are
       left out, because the others would then be compared with themselves at other points.
    2. The fit is repeated without each of the replicates. Exponents, floor and predictions have Student's interval of
       one value per replicate. ``benchmarks.coverage`` measures its coverage, for errors of a replicate that depend on
       each other and for independent ones.
    3. Lack of fit: mean residuals, less what the parameters can follow, against their covariance S between replicates:
       F = R |m|^2 / tr S with f = (tr S)^2 / tr S^2 and f (R - 1) degrees of freedom (Box 1954).
    4. The largest sizes are predicted from the others (``Extrapolation``).

    Args:
        axes: Sizes by name, (K,) each and positive.
        log_errors: Logarithms of the errors, (R, K); nan where there is none.

    Returns:
        The law, or the reason why there is none: too few replicates or sizes, equal errors, a floor that hides a term,
        or exponents that the errors do not determine.
    """
    y = log_errors[np.isfinite(log_errors).all(axis=1)]
    ranges = {name: (float(x.min(initial=math.inf)), float(x.max(initial=0.0))) for name, x in axes.items()}
    law = ScalingLaw("", "", "", ranges, replicates=len(y))
    if reason := _refusal(axes, y):
        return replace(law, refused=reason)
    fit = _Fit.of(axes, y)
    if reason := fit.refusal(axes):
        return replace(law, refused=reason)
    exponents = {name: fit.exponents(j) for j, name in enumerate(axes)}
    floor = t_interval(fit.floors())
    return replace(
        law,
        exponents={name: t_interval(values) for name, values in exponents.items()},
        values={name: tuple(values.tolist()) for name, values in exponents.items()},
        floor=replace(floor, lo=max(floor.lo, 0.0)),
        scales={name: math.exp(min(float(fit.p[2 * j]), 700.0)) for j, name in enumerate(axes)},
        lack_of_fit_p=_lack_of_fit(fit.logs, fit.p, y),
        extrapolation=_extrapolation(axes, y, fit.p),
    )


@dataclass(frozen=True)
class _Fit:
    """The parameters for all replicates, without each of them, and what each does to them to first order."""

    logs: Sequence[np.ndarray]
    p: np.ndarray
    """h_1, b_1, ..., h_J, b_J, log c, (P,)."""
    without: np.ndarray
    """(P, R)."""
    influence: np.ndarray
    """(P, R); of c instead of log c."""

    @classmethod
    def of(cls, axes: Mapping[str, np.ndarray], y: np.ndarray) -> _Fit:
        """The fits to log errors y (R, K)."""
        logs = [np.log(x) for x in axes.values()]
        p = fit_with_floor(logs, y.mean(axis=0)[:, None])[:, 0]
        residuals = y - _log_model(logs, p[:, None])[:, 0]
        influence = _inverse(_slopes(logs, p)) @ residuals.T
        return cls(logs, p, fit_with_floor(logs, _without_each(y).T, near=p), influence)

    def exponents(self, j: int) -> np.ndarray:
        """One value of b_j per replicate, (R,)."""
        return _wider(self.p[2 * j + 1], self.without[2 * j + 1], self.influence[2 * j + 1])

    def floors(self) -> np.ndarray:
        """One value of c per replicate, (R,)."""
        return _wider(np.exp(self.p[-1]), np.exp(self.without[-1]), self.influence[-1])

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
            found = np.append(self.without[2 * j + 1], self.p[2 * j + 1])
            if not ((found > EXTREME[0]) & (found < EXTREME[1])).all():
                return (
                    f"the exponent of {name} is not identified: it lies between {found.min():.2g} and "
                    f"{found.max():.2g} when one replicate at a time is left out; add sizes or replicates"
                )
        return ""


def _without_each(y: np.ndarray) -> np.ndarray:
    """Means over all replicates but one, (R, K), of values y (R, K)."""
    return np.asarray((y.sum(axis=0) - y) / (len(y) - 1))


def _wider(whole: float, without: np.ndarray, influence: np.ndarray) -> np.ndarray:
    """One value per replicate of an estimate, with its mean: pseudo-values or influences, whose spread is larger.

    Args:
        whole: The estimate from all replicates.
        without: The estimates without each replicate, (R,).
        influence: What each replicate does to it, to first order, (R,).
    """
    pseudo = (1 - len(without)) * without
    values = max(pseudo, influence, key=np.std)
    return np.asarray(whole + values - values.mean())


def _refusal(axes: Mapping[str, np.ndarray], y: np.ndarray) -> str:
    """Why log errors y (R, K) cannot be fitted; empty if they can."""
    replicates, points = y.shape
    few = [(name, sizes, least) for name, x in axes.items() if (sizes := len(set(x))) < (least := _least(axes, name))]
    reasons = [
        (replicates < MIN_REPLICATES, f"{replicates} replicates have a value; at least {MIN_REPLICATES} are needed"),
        *((True, f"a law needs {least} or more different {name}, and there are {sizes}") for name, sizes, least in few),
        (points < 2 * len(axes) + 2, f"{points} points do not determine {len(axes)} powers and a floor"),
    ]
    reason = next((reason for holds, reason in reasons if holds), "")
    if not reason and float(np.ptp(y, axis=0).max()) <= EQUAL:
        reason = "zero variance: the value is the same in every replicate; are their random streams different?"
    if not reason and float(np.ptp(y.mean(axis=0))) <= EQUAL:
        reason = "all errors are equal, so they follow no power"
    return reason


def _least(axes: Mapping[str, np.ndarray], name: str) -> int:
    """Fewest different sizes of an axis."""
    if len(axes) == 1:
        return MIN_SIZES
    return MIN_JOINT_N if name == "n" else MIN_SECOND


def _log_model(logs: Sequence[np.ndarray], p: np.ndarray) -> np.ndarray:
    """Logarithm of the law at the points, (K, S), for parameters p (P, S)."""
    terms = [p[2 * j] - p[2 * j + 1] * x[:, None] for j, x in enumerate(logs)]
    return np.asarray(np.logaddexp.reduce([*terms, np.broadcast_to(p[-1], terms[0].shape)]))


def _shares(logs: Sequence[np.ndarray], p: np.ndarray) -> np.ndarray:
    """Share of each power and of the floor in the law, (J + 1, K), for parameters p (P,)."""
    terms = [p[2 * j] - p[2 * j + 1] * x for j, x in enumerate(logs)]
    stacked = np.array([*terms, np.full(len(logs[0]), p[-1])])
    return np.asarray(np.exp(stacked - np.logaddexp.reduce(stacked)))


def _slopes(logs: Sequence[np.ndarray], p: np.ndarray) -> np.ndarray:
    """Derivatives of the log law by h_1, b_1, ..., h_J, b_J and c, at parameters p (P,), (K, P).

    That by c does not vanish at c = 0, where the errors do not show a floor but may have one.
    """
    columns = [column for x, share in zip(logs, _shares(logs, p), strict=False) for column in (share, -x * share)]
    return np.array([*columns, np.exp(-_log_model(logs, p[:, None])[:, 0])]).T


def _inverse(slopes: np.ndarray) -> np.ndarray:
    """Pseudo-inverse (P, K) of derivatives (K, P), whose columns may be of very different size."""
    sizes = np.linalg.norm(slopes, axis=0)
    return np.asarray(np.linalg.pinv(slopes / sizes, rcond=RANK) / sizes[:, None])


def _lack_of_fit(logs: Sequence[np.ndarray], p: np.ndarray, y: np.ndarray) -> float:
    """p of the law with parameters p (P,) against one free mean per point, from log errors y (R, K)."""
    from scipy.special import fdtrc

    slopes = _slopes(logs, p)
    basis, sizes, _ = np.linalg.svd(slopes / np.linalg.norm(slopes, axis=0), full_matrices=False)
    basis = basis[:, sizes > RANK * sizes[0]]
    residuals = y - _log_model(logs, p[:, None])[:, 0]
    residuals = residuals - (residuals @ basis) @ basis.T
    mean = residuals.mean(axis=0)
    centred = residuals - mean
    gram = centred @ centred.T / (len(y) - 1)  # (R, R), with the eigenvalues of the covariance of the points
    trace, square = float(np.trace(gram)), float((gram * gram).sum())
    if not square > 0:
        return math.nan
    freedom = trace**2 / square
    return float(fdtrc(freedom, freedom * (len(y) - 1), len(y) * float(mean @ mean) / trace))


def _extrapolation(axes: Mapping[str, np.ndarray], y: np.ndarray, p: np.ndarray) -> Extrapolation:
    """The error at the largest sizes over that of the law fitted to the smaller ones, from log errors y (R, K).

    The derivative of the prediction is taken at the parameters ``p`` (P,) of all points: a floor that only the largest
    sizes show bends no fit of the smaller ones, but it limits what they predict.
    """
    cuts = {name: _cut(np.unique(x), _least(axes, name)) for name, x in axes.items()}
    if cuts["n"] is None:
        return Extrapolation(refused=f"it needs more than {_least(axes, 'n')} sizes n")
    kept = np.all([x <= cut for name, x in axes.items() if (cut := cuts[name]) is not None], axis=0)
    smaller = {name: x[kept] for name, x in axes.items()}
    reason = _refusal(smaller, y[:, kept])
    fit = None if reason else _Fit.of(smaller, y[:, kept])
    if fit is None or (reason := fit.refusal(smaller)):
        return Extrapolation(refused=f"without the largest sizes, {reason}")
    order = np.lexsort([x[~kept] for x in axes.values()])  # by n, then by the second number
    last = int(np.flatnonzero(~kept)[order[-1]])
    at = [np.array([np.log(x[last])]) for x in axes.values()]
    measured, without = y[:, last].mean(), _without_each(y)[:, last] - _log_model(at, fit.without)[0]
    slopes = _slopes([np.log(x) for x in axes.values()], p)
    weights = slopes[last] @ _inverse(slopes[kept])
    influence = y[:, last] - y[:, kept] @ weights
    ratio = t_interval(_wider(float(measured - _log_model(at, fit.p[:, None])[0, 0]), without, influence))
    return Extrapolation(
        {name: float(x[last]) for name, x in axes.items()},
        {name: float(x[kept].max()) for name, x in axes.items()},
        ratio.exp(),
    )


def _cut(sizes: np.ndarray, least: int) -> float | None:
    """The largest of ascending ``sizes`` to fit, so that the last decade is held out but ``least`` sizes are left.

    None if nothing can be held out.
    """
    if len(sizes) <= least:
        return None
    below = int((sizes <= sizes[-1] / DECADE).sum())
    return float(sizes[max(below, least) - 1])
