"""Evidence from rows: values of predictors at one point of the grid, comparisons of two predictors, ratios of N*."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from bfc_bench.analysis.claims.mean_evidence import Evidence, evidence, nothing, short
from bfc_bench.analysis.curves import Curve, curves, shared_n
from bfc_bench.analysis.intervals import is_skewed
from bfc_bench.analysis.thresholds import NStar, threshold
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows

CurveKey: TypeAlias = tuple[str, str, int]
"""Task, label and d of a curve."""
SizesByCurve: TypeAlias = Mapping[CurveKey, tuple[int, ...]]
"""Sample sizes n by curve."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the grid; d or n is None if it is unknown or if all values are meant."""

    task: str
    d: int | None
    n: int | None

    def __str__(self) -> str:
        return ", ".join([self.task, *([self.size] if self.size else [])])

    @property
    def size(self) -> str:
        """The known sizes in words, such as ``d = 20, n = 400``."""
        return ", ".join(f"{name} = {value}" for name, value in (("d", self.d), ("n", self.n)) if value)


@dataclass(frozen=True)
class Measured:
    """One predictor's metric at one point, by replicate."""

    curve: Curve
    """The curve at this point alone, of the replicates that have a value."""
    problem: str = ""
    """How many cells have no value, and why."""

    @cached_property
    def values(self) -> dict[int, float]:
        """Values by replicate, as they are averaged (``Curve.averaged``)."""
        return dict(zip(self.curve.replicates, self.curve.averaged[:, 0].tolist(), strict=True))

    @property
    def floored(self) -> bool:
        """Whether the mean is only an upper bound, because some values, or all error rates, are at their floor."""
        low = self.curve.values <= self.curve.floors
        return self.curve.scale == "log" and bool(low.all() if self.curve.counted else low.any())

    @property
    def failed(self) -> int:
        """Number of cells that ran and gave no value."""
        return int(self.curve.failures[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """The problem, if there is one."""
        return (self.problem,) * bool(self.problem)


def measure(rows: Iterable[Row], name: str, metric: str, at: Point) -> Measured:
    """The values of one predictor's metric at a point."""
    label, _, stage = name.partition("/")
    of_curve = Rows.of(rows).where(task=at.task, label=label, d=at.d)
    at_point = of_curve.where(n=at.n)
    empty = Curve(at.task, at.d or 0, label, metric, np.array([at.n]), (), np.empty((0, 1)), stage=stage or None)
    if not at_point:
        return Measured(empty, f"no cells of {label} on {at}")
    if at.n not in shared_n(of_curve):
        return Measured(empty, f"{label} on {at} was run only in replicates that were chosen by their N*")
    with_metric = curves(at_point, metric, stage or None)
    if not with_metric:
        stages = at_point.names("stages")
        hint = f"; its stages are {', '.join(stages) or 'none'}" if stage and stage not in stages else ""
        return Measured(empty, f"{name} has no {metric} on {at}{hint}")
    (curve,) = with_metric
    known, problem = with_values(curve), ""
    if missing := len(curve.replicates) - len(known.replicates):
        why = ", ".join(f"{count} {status}" for status, count in curve.statuses[0].items()) or "no finite value"
        problem = f"{missing} of {len(curve.replicates)} cells of {name} have no value ({why})"
    return Measured(known, problem)


def with_values(curve: Curve) -> Curve:
    """A curve of one size without the replicates that have no value."""
    return curve.of_replicates(np.array(curve.replicates)[~np.isnan(curve.values[:, 0])].tolist())


def no_logarithm(metric: str, what: str) -> Evidence:
    """No evidence, because a claim needs the logarithm of an error that may be negative."""
    return nothing(f"{metric} is an unbiased estimate that may be negative, so it has no logarithm and no {what}")


def mean_of(a: Measured) -> Evidence:
    """Evidence about the mean of the values, as they are averaged.

    Failed cells leave the interval open above; values at the floor leave it open below.
    """
    if not a.values:
        return nothing(a.problem)
    values = a.values.values()
    skewed = ("the values are skewed, which widens the interval",) * is_skewed([*values])
    sampled = "which replicates share" if a.curve.overlap else "whose sampling the interval does not include"
    on_data = (f"on the data's own {a.curve.test_points:,.0f} test points, {sampled}",) * a.curve.counted
    at_floor = a.floored and len({*values}) == 1
    found = evidence(
        values,
        open_below=a.floored,
        open_above=a.failed > 0,
        only_bounds=at_floor,
        overlap=a.curve.overlap,
        notes=(*a.notes, *skewed, *on_data, *["every error is at the floor of the metric"] * at_floor),
    )
    return replace(found, pseudo=a.curve.counted)


def ratio_of(a: Measured, b: Measured) -> Evidence:
    """Evidence about the mean of log(a / b), over the replicates that have both values."""
    return _paired(a, b, 1.0)


def difference_of(a: Measured, b: Measured, factor: float = 1.0) -> Evidence:
    """Evidence about the mean of a - factor b, for values that may be negative.

    The mean is at most 0 exactly if mean(a) <= factor mean(b), so a bound on the ratio of means can be judged without
    forming the ratio (Fieller 1954).
    """
    difference = _paired(a, b, factor)
    times = "" if factor == 1 else f"{short(factor)} "
    note = f"the estimate is the mean of x - {times}y, as x and y may be negative"
    return replace(difference, notes=(note, *difference.notes))


def _paired(a: Measured, b: Measured, factor: float) -> Evidence:
    """Evidence about the mean of a - factor b, of values as they are averaged; failed cells leave a side open."""
    for side in (a, b):
        if not side.values:
            return nothing(side.problem)
    found = evidence(
        paired_differences(a.curve, b.curve, factor),
        open_below=a.floored or b.failed > 0,
        open_above=b.floored or a.failed > 0,
        overlap=a.curve.overlap,
        notes=(*a.notes, *b.notes),
    )
    return replace(found, pseudo=a.curve.counted)


def paired_differences(a: Curve, b: Curve, factor: float = 1.0) -> np.ndarray:
    """a - factor b by the replicates that both curves of one size have, as they are averaged over these, (R,)."""
    pairs = sorted({*a.replicates} & {*b.replicates})
    values_a, values_b = (curve.of_replicates(pairs).averaged[:, 0] for curve in (a, b))
    return np.asarray(values_a - factor * values_b)


def n_star_ratio(a: Curve, b: Curve, level: float) -> Evidence:
    """Evidence about the mean of log(N*_a / N*_b) of two curves."""
    return replace(evidence_of_n_stars((1.0, -1.0), (a, b), level), overlap=a.overlap)


def evidence_of_n_stars(weights: Sequence[float], curves: Sequence[Curve], level: float) -> Evidence:
    """Evidence about the mean over replicates of sum_i w_i log N*_i of curves; failed cells can only make N* larger."""
    failed = [weight for weight, curve in zip(weights, curves, strict=True) if curve.failures.any()]
    sides = (min(failed, default=0.0) < 0, max(failed, default=0.0) > 0)
    n_stars = [threshold(curve, level).replicates for curve in curves]
    return evidence_of_crossings(weights, n_stars, sides, failure_notes(curves))


def evidence_of_crossings(
    weights: Sequence[float], groups: Sequence[Sequence[NStar]], failed: tuple[bool, bool], notes: Sequence[str]
) -> Evidence:
    """Evidence about the mean over replicates of sum_i w_i log N*_i.

    The sum lies in a range, as each N* does. One with a censored N* enters as its bound and leaves a side open, as
    ``failed`` cells do (below, above). One that may be anything, as if neither of two learners reaches the level, says
    nothing and does not count.
    """
    bounds = [{each.replicate: each.log_bounds for each in group} for group in groups]
    common = sorted(set.intersection(*map(set, bounds)))
    sums = {replicate: _weighted(weights, [of[replicate] for of in bounds]) for replicate in common}
    known = {r: ends for r, ends in sums.items() if not all(map(math.isinf, ends))}
    below, above = (sum(math.isinf(ends[side]) for ends in known.values()) for side in (0, 1))
    censored = len(common) - len(known) + below + above
    ranges = [_weighted(weights, [_finite(*of[replicate]) for of in bounds]) for replicate in known]
    alike = all(abs(x - y) < 1e-9 for ends in ranges for x, y in zip(ends, ranges[0], strict=True))
    if alike and not any((each.lo, each.hi) == each.step and not each.censored for group in groups for each in group):
        ranges = [((lo + hi) / 2,) * 2 for lo, hi in ranges]  # copies of one smooth curve, which show no variance
    return evidence(
        ranges,
        open_below=failed[0] or below > 0,
        open_above=failed[1] or above > 0,
        only_bounds=bool(known) and len(known) in (below, above),
        notes=(
            *notes,
            *[f"{censored} of {len(common)} replicates are censored"] * bool(censored),
            *ill_behaved_note(*groups),
        ),
    )


def _weighted(weights: Sequence[float], bounds: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Bounds on a weighted sum; an infinite bound without weight does not count."""
    weighted = [(w, *ends) for w, ends in zip(weights, bounds, strict=True) if w]
    ends = [(w * lo, w * hi) if w > 0 else (w * hi, w * lo) for w, lo, hi in weighted]
    return sum(lo for lo, _ in ends), sum(hi for _, hi in ends)


def _finite(lo: float, hi: float) -> tuple[float, float]:
    """A range; if one end is infinite, the other end as a point."""
    return (hi if math.isinf(lo) else lo, lo if math.isinf(hi) else hi)


def ill_behaved_note(*groups: Sequence[NStar]) -> tuple[str, ...]:
    """A note on the replicates whose error rises above the level again after the first crossing; empty if none does."""
    count = sum(crossing.last is not None for group in groups for crossing in group)
    return (f"{count} ill-behaved curves rise above the level again; their first crossing counts",) * bool(count)


def failure_notes(curves: Iterable[Curve]) -> tuple[str, ...]:
    """Notes on the failed cells of curves, one per predictor with such cells."""
    counts: Counter[str] = Counter()
    for curve in curves:
        counts[curve.name] += int(curve.failures.sum())
    return tuple(f"failed cells of {name}: {count}" for name, count in counts.items() if count)
