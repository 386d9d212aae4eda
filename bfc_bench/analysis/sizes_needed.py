"""Sample sizes that would narrow the interval of a claim about N*: beyond the tested ones, or between them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.claims import Claim
from bfc_bench.analysis.claims.mean_evidence import short
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import Curve, curves_of
from bfc_bench.analysis.intervals import t_quantile
from bfc_bench.analysis.thresholds import NStars, threshold
from bfc_bench.store.rows import Rows

FINE = 1.1
"""Steps of this factor are not divided."""
SMALL = 0.1
"""If steps make less than this share of the variance of log N*, no sizes are added."""


@dataclass(frozen=True, slots=True)
class NewSizes:
    """Sizes to add to a curve."""

    task: str
    label: str
    d: int
    sizes: tuple[int, ...]
    near: int
    """A tested size beside them: the largest or the smallest, or the upper end of the largest step."""
    says: str
    """Why they are needed."""


def sizes_beyond_grid(claim: Claim, rows: Rows, verdict: Finding, more: int) -> list[NewSizes]:
    """For the curves of a claim whose N* lies beyond the tested sizes: the size that continues them geometrically.

    None where ``more`` replicates, which the next look adds, would decide the claim, because N* beyond the sizes is a
    bound, and none for some opponents where others, whose N* is known, keep the claim undecided even then. Sizes below
    2 are not suggested.
    """
    if verdict.needed <= verdict.replicates + more:
        return []
    beyond = []
    for curve, reached in _thresholds(claim, rows):
        n, shared = curve.n, curve.n[curve.shared]
        first, last = (shared[1] / shared[0], shared[-1] / shared[-2]) if len(shared) > 1 else (2.0, 2.0)
        sides = (reached.right, "above", n[-1], n[-1] * last), (reached.left, "below", n[0], n[0] / first)
        for count, side, end, size in sides:
            if count and round(size) >= 2:
                replicates = f"{count} of {len(reached.replicates)} replicates"
                says = f"{_n_star(curve, reached)} lies {side} n = {end} in {replicates}"
                beyond.append(NewSizes(curve.task, curve.label, curve.d, (round(size),), int(end), says))
    within = claim.about(rows).without({new.label for new in beyond})
    others = within.judge(rows) if within else verdict
    return beyond if not within or others.needed <= others.replicates + more else []


def finer_sizes(claim: Claim, rows: Rows, more: int) -> list[NewSizes]:
    """For the curves of a claim where they narrow the interval of N* more for each CPU second than replicates do: the
    middles of the steps in which the N* of the replicates lie.

    A step of the factor h adds (log h)^2 / 12 to the variance of log N*, and its middle takes three quarters of that.
    Replicates narrow the interval as Student's; where steps make all of the variance, they take nothing. The next look
    adds ``more`` of them; 0 if there is none.
    """
    options, by_replicates, seconds_of_replicates = [], 0.0, 0.0
    for curve, reached in _thresholds(claim, rows):
        count, lo, hi = len(reached.replicates), reached.interval.lo, reached.interval.hi
        if not 0 < lo < hi < math.inf or reached.left or reached.right or count < 2:
            continue
        width, share, seconds = math.log(hi / lo), _share_of_steps(reached), _seconds(curve, rows)
        if share < 1:
            by_replicates += width * (1 - _half_width(count + more) / _half_width(count))
        seconds_of_replicates += more * sum(seconds.values())
        if share > SMALL and (new := _middles(curve, reached, share)):
            by_sizes = width * (1 - math.sqrt(1 - 0.75 * share))
            options.append((new, by_sizes, count * len(new.sizes) * seconds[new.near]))
    return [new for new, by_sizes, cost in options if by_sizes * seconds_of_replicates >= by_replicates * cost]


def _share_of_steps(reached: NStars) -> float:
    """The share of the variance of log N* over replicates that is due to the widths of their ranges."""
    of_ranges = sum(math.log(c.hi / c.lo) ** 2 for c in reached.replicates) / (12 * len(reached.replicates))
    return of_ranges / max(float(np.var(np.log([c.n for c in reached.replicates]), ddof=1)), of_ranges, 1e-300)


def _middles(curve: Curve, reached: NStars, share: float) -> NewSizes | None:
    """The middles of the wide steps, which make this ``share`` of the variance of log N*; None if no step is wide."""
    steps = {(round(c.step[0]), round(c.step[1])) for c in reached.replicates if c.hi > FINE * c.lo}
    wide = {(a, b) for a, b in steps if b > FINE * a and b > a + 1}
    if not wide:
        return None
    first, near = min(a for a, _ in wide), max(b for _, b in wide)
    says = f"steps between n = {first} and {near} make {share:.0%} of the variance of {_n_star(curve, reached)}"
    sizes = tuple(sorted({round(math.sqrt(a * b)) for a, b in wide}))
    return NewSizes(curve.task, curve.label, curve.d, sizes, near, says)


def _half_width(replicates: int) -> float:
    """Half the width of Student's interval of a mean, in standard deviations of a replicate."""
    return t_quantile(replicates - 1) / math.sqrt(replicates)


def _seconds(curve: Curve, rows: Rows) -> dict[int, float]:
    """Mean CPU seconds of a fit, by size."""
    own = rows.where(task=curve.task, label=curve.label, d=curve.d)
    seconds, n = np.nan_to_num(own.number("fit_cpu_seconds")), own.n
    return {size: float(seconds[n == size].mean()) for size in curve.n.tolist()}


def _thresholds(claim: Claim, rows: Rows) -> Iterator[tuple[Curve, NStars]]:
    """The curves that keep a claim about N* undecided, and their N*."""
    level = claim.n_star_level
    if level is None:
        return
    claim = claim.about(rows).undecided_part(rows)
    for point in claim.points(rows):
        for name in claim.predictors:
            for curve in curves_of(rows, name, point.task, getattr(claim, "metric", "nmse"), point.d):
                yield curve, threshold(curve, level)


def _n_star(curve: Curve, reached: NStars) -> str:
    return f"N*({short(reached.level)}) of {curve.name} at d = {curve.d}"
