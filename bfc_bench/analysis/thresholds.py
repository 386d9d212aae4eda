"""N*(level): the sample size at which a learning curve reaches an error level, for each replicate and over them.

Between two tested sizes the curve is interpolated as a power law. How far its slopes before and after agree with that
gives the range in which N* lies: all of the step if the error drops sharply within it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval, range_interval
from bfc_bench.errors import UsageError

ROUNDING = 1e-6
"""Lines that meet within this fraction of a step meet in one point."""
RISE = 2.0
"""A curve is ill-behaved if it rises above the level again, by this factor from where it was at most the level."""
NOISE = 3.0
"""The rise must also exceed this many standard deviations of its noise (``Curve.noise``)."""
CLEAR = 7.0
"""If ``RISE`` is less than this many times the noise of an error, a rise is judged on means of neighbouring sizes:
among many sizes, single errors rise by chance."""
WINDOW = math.log(2) / 2 + 1e-9
"""Neighbours are within a factor sqrt 2, in logarithm."""


@dataclass(frozen=True, slots=True)
class NStar:
    """N* of one replicate: the range of sizes in which it lies."""

    replicate: int
    lo: float
    """Lower end; 0 if the error is at most the level at the smallest tested size already (left-censored)."""
    hi: float
    """Upper end; inf if the error is above the level at the largest tested size (right-censored)."""
    step: tuple[float, float] = (0.0, math.inf)
    """The two tested sizes between which the error, freed from noise, falls to the level; 0 or inf beyond them."""
    last: float | None = None
    """Last crossing of an ill-behaved curve, which rises above the level again beyond noise; inf if it ends above the
    level. The range is that of the first crossing."""

    @property
    def censored(self) -> Literal["left", "right"] | None:
        """The side on which N* lies beyond the tested sizes."""
        return "left" if self.lo == 0 else "right" if math.isinf(self.hi) else None

    @property
    def n(self) -> float:
        """The geometric middle of the range; if censored, the bound."""
        return (self.lo or self.hi) if self.censored else math.sqrt(self.lo * self.hi)

    @property
    def log_bounds(self) -> tuple[float, float]:
        """Ends of the range of log N*."""
        return math.log(self.lo) if self.lo else -math.inf, math.log(self.hi)

    @classmethod
    def of(cls, replicate: int, log_n: Sequence[float], error: Sequence[float], level: float) -> NStar:
        """N* of a replicate; ``error`` and ``level`` are on the scale on which errors are averaged.

        Three lines meet the level in the step: its chord, and the lines of the steps before and after, continued into
        this one and cut at its ends. For a power law, all three meet it in one point. If the error drops in this step
        only, the other two meet it at the ends. At the first and last step, the missing line is replaced by the other.
        The square root of the share of the step between them is the width of the range, and moves its middle from where
        the chord meets the level to the middle of the step. (With the share itself, intervals of 10 replicates whose
        errors drop sharply cover 91 %, since where lines meet is itself uncertain: ``benchmarks.coverage``.)
        """
        fit = list(map(float, error))
        if any(later > earlier for earlier, later in pairwise(fit)):
            from scipy.optimize import isotonic_regression  # slow to import

            fit = isotonic_regression(error, increasing=False).x.tolist()
        if fit[0] <= level:
            return cls(replicate, 0.0, math.exp(log_n[0]), (0.0, math.exp(log_n[0])))
        if fit[-1] > level:
            return cls(replicate, math.exp(log_n[-1]), math.inf, (math.exp(log_n[-1]), math.inf))
        after = next(k for k, e in enumerate(fit) if e <= level)
        start, end = log_n[after - 1], log_n[after]
        slopes = [(e - f) / (b - a) for a, b, e, f in zip(log_n, log_n[1:], fit, fit[1:], strict=False)]
        adjacent = [slopes[k] for k in (after - 2, after) if 0 <= k < len(slopes)] or [slopes[after - 1]]
        before, later = adjacent[0], adjacent[-1]
        chord = start + (fit[after - 1] - level) / slopes[after - 1]
        continued = min(end, start + (fit[after - 1] - level) / before) if before > 0 else end
        traced_back = max(start, end - (level - fit[after]) / later) if later > 0 else start
        meet = (chord, continued, traced_back)
        size, step = end - start, (math.exp(start), math.exp(end))
        apart = (max(meet) - min(meet)) / size
        left_open = math.sqrt(apart) if apart > ROUNDING else 0.0
        middle, half = chord + left_open * ((start + end) / 2 - chord), left_open * size / 2
        lo, hi = step if left_open == 1 else (math.exp(middle - half), math.exp(middle + half))
        return cls(replicate, lo, hi, step)


@dataclass(frozen=True)
class NStars:
    """N*(level) of one learner on one task at one d over replicates, or the least cost of reaching the level."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    level: float
    replicates: tuple[NStar, ...]
    """Those that have values at enough sizes (``Curve.has_enough_sizes``)."""
    cost: str = ""
    """Name of the cost in the place of N*; empty for N*."""

    @property
    def left(self) -> int:
        """Number of replicates that reach the level already at the smallest tested size."""
        return sum(each.censored == "left" for each in self.replicates)

    @property
    def right(self) -> int:
        """Number of replicates that do not reach the level at the largest tested size."""
        return sum(each.censored == "right" for each in self.replicates)

    @property
    def ill_behaved(self) -> int:
        """Number of replicates whose error reaches the level and then rises above it again, beyond noise."""
        return sum(each.last is not None for each in self.replicates)

    @property
    def last(self) -> float:
        """Geometric mean of the last crossings; inf if one is not reached, nan without replicates.

        If no curve is ill-behaved, it is that of the middles of N*.
        """
        sizes = [math.inf if e.censored == "right" else e.n if e.last is None else e.last for e in self.replicates]
        return math.exp(sum(map(math.log, sizes)) / len(sizes)) if sizes else math.nan

    @cached_property
    def interval(self) -> Interval:
        """The geometric mean of N* with its interval (``range_interval``); nan without replicates.

        If N* of all replicates lies beyond the tested sizes, the mean is nan, and the ends are what is known of all:
        (0, 50) below 50, (1600, inf) beyond 1600. The ends of one replicate are those of its range, if it has one.
        """
        if not self.replicates:
            return NOTHING
        lower, upper = zip(*(each.log_bounds for each in self.replicates), strict=True)
        count = len(self.replicates)
        if count == self.left + self.right or (count == 1 and lower < upper):
            mean = math.nan if self.left + self.right else self.replicates[0].n
            return Interval(mean, min(e.lo for e in self.replicates), max(e.hi for e in self.replicates), count)
        return range_interval(lower, upper).exp()

    @property
    def rank(self) -> float:
        """The size by which learners are ranked: N*, its upper end if it is only a bound, inf without replicates."""
        interval = self.interval
        return next((x for x in (interval.mean, interval.hi) if not math.isnan(x)), math.inf)

    def as_dict(self) -> dict[str, Any]:
        """A flat record with the ``interval``, whose number is ``least`` for a cost and else ``n_star``, and the number
        of censored replicates."""
        record = {name: getattr(self, name) for name in ("task", "d", "label", "level", "metric")}
        record |= {"cost": self.cost} if self.cost else {"ill_behaved": self.ill_behaved, "last": self.last}
        return record | self.sizes("least" if self.cost else "n_star")

    def sizes(self, name: str) -> dict[str, Any]:
        """The part of the record that has the sizes; ``name`` is that of the number."""
        counts = {"replicates": len(self.replicates), "censored": self.left + self.right}
        interval = self.interval
        sizes = {name: interval.mean, "lo": interval.lo, "hi": interval.hi}
        return counts | {key: float(f"{size:.14g}") for key, size in sizes.items()}  # 800, not exp(log 800)


def crossings(curve: Curve, level: float) -> list[NStar]:
    """N*(level) of each replicate: the smallest n at which its error, freed from noise, is at most the level.

    The noise is removed by isotonic (non-increasing) regression of log error on log n, and N* is interpolated
    log-log (``NStar.of``). On a linear scale both use the error itself and log n. A replicate that is at most the level
    at its smallest size is left-censored, and one that is above it at its largest size is right-censored. Sizes without
    a value are ignored, and so are replicates without values or with few sizes (``Curve.has_enough_sizes``).

    If a curve rises above the level again, by ``RISE`` and beyond noise, N* is its first crossing: extra samples can be
    discarded, and the rest of the curve does not move this crossing. ``last`` is the last one. Isotonic regression over
    both would give a size between them, at which nothing happens.

    Raises ``UsageError`` if ``level`` is not positive.
    """
    if not level > 0:
        raise UsageError(f"crossings: level must be positive. Got {level!r}.")
    linear = curve.scale == "linear"
    bound = level if linear else math.log(level)
    rise = level * (RISE - 1) if linear else math.log(RISE)
    log_n = np.log(curve.n).tolist()
    found = []
    # An error rate of 0 counts as half of a test point, which may be above the level that it is below.
    scaled = np.where(curve.values <= level, np.minimum(curve.scaled, bound), curve.scaled).tolist()
    for replicate, error, traced in zip(curve.replicates, scaled, curve.has_enough_sizes, strict=True):
        errors = [e for e in error if not math.isnan(e)]
        if traced and errors:
            sizes = [size for size, e in zip(log_n, error, strict=True) if not math.isnan(e)]
            end, last = _turns(np.array(sizes), np.array(errors), bound, rise, curve.noise)
            again = None if last is None else NStar.of(replicate, sizes[last:], errors[last:], bound)
            size = None if again is None else math.inf if again.censored == "right" else again.n
            found.append(replace(NStar.of(replicate, sizes[:end], errors[:end], bound), last=size))
    return found


def _turns(log_n: np.ndarray, error: np.ndarray, level: float, rise: float, noise: float) -> tuple[int, int | None]:
    """The end of the part of a curve before it rises above the level again, and the last size of such a rise."""
    near = np.abs(log_n[:, None] - log_n) <= (WINDOW if rise <= CLEAR * noise else 0.0)
    cells = near.sum(axis=1)
    mean = near @ error / cells
    reached = mean <= level
    above = []
    for k in np.flatnonzero(np.logical_or.accumulate(reached) & ~reached):
        earlier = np.flatnonzero(reached[:k])
        least_rise = np.maximum(rise, NOISE * noise * np.sqrt(1 / cells[k] + 1 / cells[earlier]))
        if (mean[k] - mean[earlier] > least_rise).any():
            above.append(int(k))
    if not above:
        return len(error), None
    below = np.flatnonzero(reached[: above[0]]).tolist()
    return max([k for k in below if error[k] <= level] or below) + 1, above[-1]


@lru_cache(maxsize=2048)  # pages and comparisons ask for the same ones
def threshold(curve: Curve, level: float) -> NStars:
    """N*(level) over the replicates of a curve. Raises ``UsageError`` if ``level`` is not positive."""
    return NStars(curve.task, curve.d, curve.name, curve.metric, level, tuple(crossings(curve, level)))


def thresholds(curves: Iterable[Curve], levels: Sequence[float]) -> list[NStars]:
    """N* of each curve at each level. Raises ``UsageError`` if a level is not positive."""
    return [threshold(curve, level) for curve in curves for level in levels]
