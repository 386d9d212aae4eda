"""The evidence that rows hold: values of named predictors at one point of the grid, how two compare, ratios of N*."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bfc_bench.analysis.claims.verdict import Evidence, evidence, evidence_of_ranges, nothing, short
from bfc_bench.analysis.curves import Curve, Scale, curves, scale_of
from bfc_bench.analysis.intervals import is_skewed
from bfc_bench.analysis.thresholds import Crossing
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows


@dataclass(frozen=True, slots=True)
class Point:
    """Where something is measured; None stands for what no row tells."""

    task: str
    d: int | None
    n: int | None

    def __str__(self) -> str:
        return ", ".join([self.task, *([self.size] if self.size else [])])

    @property
    def size(self) -> str:
        """``d = 20, n = 400``, what is known of it."""
        return ", ".join(f"{name} = {value}" for name, value in (("d", self.d), ("n", self.n)) if value)


def locate(rows: Iterable[Row], task: str, labels: Collection[str], d: int | None, n: int | None) -> Point:
    """The point that a claim names, d and n being the largest of the labels' rows where they are not given."""
    here = Rows.of(rows).where(task=task, label=labels, d=d)
    d = d or max(here.d.tolist(), default=None)
    return Point(task, d, n or max(here.where(d=d).n.tolist(), default=None))


@dataclass(frozen=True)
class Measured:
    """One predictor's metric at one point, by replicate."""

    name: str
    scale: Scale
    values: Mapping[int, float] = field(default_factory=dict)
    """As they are averaged: logarithms, or on a linear scale the values themselves."""
    floored: bool = False
    """Some values are at the metric's floor: bounds on what they would be."""
    failed: int = 0
    """Cells that were tried and gave no value."""
    problem: str = ""
    """Which cells have no value, and why."""
    tested: float = math.inf
    """Test points of which an error rate is counted, where they are all that there are."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The problem, where there is one."""
        return (self.problem,) * bool(self.problem)


def measure(rows: Iterable[Row], name: str, metric: str, at: Point) -> Measured:
    """The values of ``LABEL`` or ``LABEL/STAGE`` at a point."""
    label, _, stage = name.partition("/")
    scale = scale_of(metric)
    here = Rows.of(rows).where(task=at.task, label=label, d=at.d, n=at.n)
    if not here:
        return Measured(name, scale, problem=f"no cells of {label} on {at}")
    found = curves(here, metric, stage or None)
    if not found:
        stages = here.names("stages")
        hint = f"; its stages are {', '.join(stages) or 'none'}" if stage and stage not in stages else ""
        return Measured(name, scale, problem=f"{name} has no {metric} on {at}{hint}")
    (curve,) = found
    values = {
        replicate: float(value)
        for replicate, value in zip(curve.replicates, curve.scaled[:, 0], strict=True)
        if not math.isnan(value)
    }
    floored = scale == "log" and any(value <= math.log(curve.floor) for value in values.values())
    missing = len(curve.replicates) - len(values)
    problem = ""
    if missing:
        why = ", ".join(f"{count} {status}" for status, count in curve.statuses[0].items()) or "no finite value"
        problem = f"{missing} of {len(curve.replicates)} cells of {name} have no value ({why})"
    tested = curve.test_points if metric == "error_rate" else math.inf
    return Measured(name, scale, values, floored, int(curve.failures[0]), problem, tested)


def mean_of(a: Measured) -> Evidence:
    """The mean of the values as they are averaged.

    A failed cell may be any amount worse, a value at the floor any amount better.
    """
    if not a.values:
        return nothing(a.problem)
    skewed = ("the values are skewed, of which the interval covers less than it says",) * is_skewed(
        [*a.values.values()]
    )
    on_data = (f"on the data's own {a.tested:,.0f} test points, which the interval does not count",) * (
        a.tested < math.inf
    )
    notes = (*a.notes, *skewed, *on_data)
    return evidence(a.values.values(), open_below=a.floored, open_above=a.failed > 0, notes=notes)


def ratio_of(a: Measured, b: Measured) -> Evidence:
    """The mean of log(a / b) over the replicates that both have."""
    return _paired(a, b, 1.0)


def difference_of(a: Measured, b: Measured, factor: float = 1.0) -> Evidence:
    """The mean of a - factor b over the replicates that both have, for values that may be negative.

    mean(a) <= factor mean(b) is the statement that it is at most 0: the ratio of means is judged, and none is formed
    (Fieller 1954).
    """
    found = _paired(a, b, factor)
    share = "" if factor == 1 else f"{short(factor)} "
    return replace(found, notes=(f"the estimate is the mean of x - {share}y, as x and y may be negative", *found.notes))


def _paired(a: Measured, b: Measured, factor: float) -> Evidence:
    """The mean of a - factor b, of values as they are averaged. A failed cell may be any amount worse."""
    for side in (a, b):
        if not side.values:
            return nothing(side.problem)
    pairs = sorted(a.values.keys() & b.values.keys())
    return evidence(
        (a.values[r] - factor * b.values[r] for r in pairs),
        open_below=a.floored or b.failed > 0,
        open_above=b.floored or a.failed > 0,
        notes=(*a.notes, *b.notes),
    )


def crossing_ratio(
    a: Sequence[Crossing], b: Sequence[Crossing], notes: Sequence[str] = (), failed: tuple[bool, bool] = (False, False)
) -> Evidence:
    """The mean of log(N*_a / N*_b), a bound in the place of what is censored, which leaves that side open.

    Where the curves give ranges the ratio, or the bound on it, lies in one.

    ``failed``: whether cells of a and of b gave no value, so that their N* may be any amount larger.
    """
    bounds_b = {crossing.replicate: crossing.log_bounds for crossing in b}
    ranges, below, above, unknown = [], 0, 0, 0
    for crossing in a:
        if crossing.replicate in bounds_b:
            (lo_a, hi_a), (lo_b, hi_b) = crossing.log_bounds, bounds_b[crossing.replicate]
            is_below, is_above = math.isinf(lo_a) or math.isinf(hi_b), math.isinf(hi_a) or math.isinf(lo_b)
            below, above = below + is_below, above + is_above
            if is_below and is_above:
                unknown += 1
            else:
                (lo_a, hi_a), (lo_b, hi_b) = _finite(lo_a, hi_a), _finite(lo_b, hi_b)
                ranges.append((lo_a - hi_b, hi_a - lo_b))
    censored = [f"{below + above - unknown} of {len(ranges) + unknown} replicates are censored"] * bool(below or above)
    return evidence_of_ranges(
        [lo for lo, _ in ranges],
        [hi for _, hi in ranges],
        open_below=below > 0 or failed[1],
        open_above=above > 0 or failed[0],
        notes=(*notes, *censored, *ill_behaved(a, b)),
    )


def _finite(lo: float, hi: float) -> tuple[float, float]:
    """A range; where one end is infinite, the other end as a point."""
    return (hi if math.isinf(lo) else lo, lo if math.isinf(hi) else hi)


def ill_behaved(*found: Sequence[Crossing]) -> tuple[str, ...]:
    """A note on replicates whose error rises above the level again after its first crossing, where any does."""
    count = sum(crossing.last is not None for crossings in found for crossing in crossings)
    return (f"{count} ill-behaved curves rise above the level again; their first crossing counts",) * bool(count)


def failures(found: Iterable[Curve]) -> tuple[str, ...]:
    """A note on the cells of curves that failed, where any did."""
    counts = Counter({curve.name: 0 for curve in found})
    for curve in found:
        counts[curve.name] += int(curve.failures.sum())
    return tuple(f"failed cells of {name}: {count}" for name, count in counts.items() if count)
