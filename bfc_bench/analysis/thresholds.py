"""N*(level): the sample size at which a learning curve reaches an error level, for each replicate.

Between two tested sizes the curve is interpolated as a power law if its slopes before and after allow this. If they do
not, for example because the error drops sharply within one step, N* is only known to lie between the two sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any, Literal

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval, range_interval
from bfc_bench.errors import UsageError

UNSURE = 0.5
"""If the slopes of a curve leave N* open by more than this fraction of the step between two tested sizes, in logarithm,
N* is only known to lie in the step. It was chosen for coverage and bias of N* (docs/statistics.md); ranges everywhere
would make the intervals of smooth curves up to five times as wide."""
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
class Crossing:
    """N* of one replicate: a size, a range, or a bound if it lies beyond the tested sizes."""

    replicate: int
    n: float
    """N*, or the geometric middle of its range. If censored, the bound: the largest tested size (right-censored) or the
    smallest (left-censored)."""
    censored: Literal["left", "right"] | None = None
    within: tuple[float, float] | None = None
    """The tested sizes between which N* lies, if it is not interpolated."""
    last: float | None = None
    """Last crossing of an ill-behaved curve, which rises above the level again beyond noise; inf if it ends above the
    level. ``n`` is the first crossing."""

    @property
    def log_bounds(self) -> tuple[float, float]:
        """Bounds on log N*; equal if N* is neither censored nor in a range."""
        if self.within is not None:
            return math.log(self.within[0]), math.log(self.within[1])
        log_n = math.log(self.n)
        return (-math.inf if self.censored == "left" else log_n, math.inf if self.censored == "right" else log_n)


@dataclass(frozen=True, slots=True)
class Threshold:
    """N*(level) over replicates."""

    level: float
    crossings: tuple[Crossing, ...]

    @property
    def left(self) -> int:
        """Number of replicates that reach the level already at the smallest tested size."""
        return sum(crossing.censored == "left" for crossing in self.crossings)

    @property
    def right(self) -> int:
        """Number of replicates that do not reach the level at the largest tested size."""
        return sum(crossing.censored == "right" for crossing in self.crossings)

    @property
    def ill_behaved(self) -> int:
        """Number of replicates whose error reaches the level and then rises above it again, beyond noise."""
        return sum(crossing.last is not None for crossing in self.crossings)

    @property
    def last(self) -> float:
        """Geometric mean of the last crossings; inf if one is not reached, nan without crossings.

        It is that of N* if no curve is ill-behaved.
        """
        sizes = [math.inf if c.censored == "right" else c.n if c.last is None else c.last for c in self.crossings]
        return math.exp(sum(map(math.log, sizes)) / len(sizes)) if sizes else math.nan

    @property
    def interval(self) -> Interval:
        """Geometric mean of N* with its interval (``range_interval``); nan if any replicate is censored."""
        if self.left or self.right or not self.crossings:
            return NOTHING
        lower, upper = zip(*(crossing.log_bounds for crossing in self.crossings), strict=True)
        return range_interval(lower, upper).exp()

    @property
    def size(self) -> float:
        """N* as one number: the geometric mean, or the median if some replicate is censored; nan if that is not known.

        A range counts as its middle.
        """
        if not self.left and not self.right:
            return self.interval.mean
        lower, upper = self.median
        return lower if lower == upper else math.nan

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of N*; if some replicate is censored, or there is one alone, the sizes between which all lie.

        They are (0, 50) below 50, (1600, inf) beyond 1600, and nan without crossings.
        """
        if not self.left and not self.right and (len(self.crossings) != 1 or self.crossings[0].within is None):
            return self.interval.lo, self.interval.hi
        lower, upper = zip(*(crossing.log_bounds for crossing in self.crossings), strict=True)
        return math.exp(min(lower)), math.exp(max(upper))

    @property
    def median(self) -> tuple[float, float]:
        """Bounds on the median N*, equal if it is known; 0 or inf if censoring leaves a side open.

        A range counts as its middle.
        """
        if not self.crossings:
            return math.nan, math.nan
        lower = [-math.inf if c.censored == "left" else math.log(c.n) for c in self.crossings]
        upper = [math.inf if c.censored == "right" else math.log(c.n) for c in self.crossings]
        return math.exp(median(lower)), math.exp(median(upper))

    def as_dict(self, name: str) -> dict[str, Any]:
        """A flat record whose ``name`` is ``size``, with the ``bounds`` and the number of censored replicates."""
        lo, hi = self.bounds
        counts = {"replicates": len(self.crossings), "censored": self.left + self.right}
        sizes = {name: self.size, "lo": lo, "hi": hi}
        return counts | {key: float(f"{size:.14g}") for key, size in sizes.items()}  # 800, not exp(log 800)


@dataclass(frozen=True, slots=True)
class Reached:
    """N*(level) of one learner on one task at one d, or the least cost at which it reaches the level."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    level: float
    threshold: Threshold
    cost: str = ""
    """Name of the cost in the place of N*; empty for N*."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record with ``Threshold.as_dict``, whose number is ``least`` for a cost and else ``n_star``."""
        shared = {name: getattr(self, name) for name in ("task", "d", "label", "level", "metric")}
        if self.cost:
            return shared | {"cost": self.cost} | self.threshold.as_dict("least")
        last = {"ill_behaved": self.threshold.ill_behaved, "last": self.threshold.last}
        return shared | last | self.threshold.as_dict("n_star")


def crossings(curve: Curve, level: float) -> list[Crossing]:
    """N*(level) of each replicate: the smallest n at which its error, freed from noise, is at most the level.

    The noise is removed by isotonic (non-increasing) regression of log error on log n, and N* is interpolated
    log-log. On a linear scale both use the error itself and log n. If the slopes of any replicate leave its N* open
    (``UNSURE``), N* of every replicate is the range between two tested sizes: the likelihood would take interpolated
    points for values without error and follow them. A replicate that is at most the level at its smallest size is
    left-censored, and one that is above it at its largest size is right-censored. Sizes without a value are ignored,
    and so are replicates without values or with few sizes (``Curve.has_enough_sizes``).

    If a curve rises above the level again, by ``RISE`` and beyond noise, N* is its first crossing: extra samples can be
    discarded, and the rest of the curve does not move this crossing. ``last`` is the last one. Isotonic regression over
    both would give a size between them, at which nothing happens.

    Raises ``UsageError`` if ``level`` is not positive.
    """
    all_steps = steps(curve, level)
    unsure = any(step.unsure for _, first, last in all_steps for step in (first, last) if step)
    return [first.crossing(replicate, unsure, last) for replicate, first, last in all_steps]


def steps(curve: Curve, level: float) -> list[tuple[int, Step, Step | None]]:
    """Each replicate with the step in which its error falls to the level; if it rises again, also the last such step.

    Raises ``UsageError`` if ``level`` is not positive.
    """
    if not level > 0:
        raise UsageError(f"crossings: level must be positive. Got {level!r}.")
    linear = curve.scale == "linear"
    bound = level if linear else math.log(level)
    rise = level * (RISE - 1) if linear else math.log(RISE)
    log_n = np.log(curve.n).tolist()
    result = []
    for replicate, error, traced in zip(curve.replicates, curve.scaled.tolist(), curve.has_enough_sizes, strict=True):
        errors = [e for e in error if not math.isnan(e)]
        if traced and errors:
            sizes = [size for size, e in zip(log_n, error, strict=True) if not math.isnan(e)]
            end, last = _turns(np.array(sizes), np.array(errors), bound, rise, curve.noise)
            again = None if last is None else Step.of(sizes[last:], errors[last:], bound)
            result.append((replicate, Step.of(sizes[:end], errors[:end], bound), again))
    return result


def _turns(log_n: np.ndarray, error: np.ndarray, level: float, rise: float, noise: float) -> tuple[int, int | None]:
    """The end of the part of a curve before it rises above the level again, and the last size of such a rise."""
    near = np.abs(log_n[:, None] - log_n) <= (WINDOW if rise <= CLEAR * noise else 0.0)
    cells = near.sum(axis=1)
    mean = near @ error / cells
    least_rise = np.maximum(rise, NOISE * noise * np.sqrt(1 / cells[:, None] + 1 / cells))
    risen = (mean[:, None] > level) & (mean <= level) & (mean[:, None] - mean > least_rise) & (log_n < log_n[:, None])
    (above,) = np.nonzero(risen.any(axis=1))
    if not len(above):
        return len(error), None
    below = (mean <= level) & (np.arange(len(error)) < above[0])
    both = below & (error <= level)
    return int(np.nonzero(both if both.any() else below)[0][-1]) + 1, int(above[-1])


def threshold(curve: Curve, level: float) -> Threshold:
    """N*(level) over the replicates of a curve. Raises ``UsageError`` if ``level`` is not positive."""
    return Threshold(level, tuple(crossings(curve, level)))


def thresholds(curves: Iterable[Curve], levels: Sequence[float]) -> list[Reached]:
    """N* of each curve at each level. Raises ``UsageError`` if a level is not positive."""
    return [
        Reached(curve.task, curve.d, curve.name, curve.metric, level, threshold(curve, level))
        for curve in curves
        for level in levels
    ]


@dataclass(frozen=True, slots=True)
class Step:
    """The step between two adjacent sizes, in logarithm, in which a replicate's error falls to the level."""

    start: float
    end: float
    chord: float = math.nan
    """Where the straight line between the two sizes meets the level."""
    open: float = 0.0
    """Distance, in logarithm, between the sizes that the slopes of the curve suggest."""
    censored: Literal["left", "right"] | None = None

    @property
    def unsure(self) -> bool:
        """Whether N* is only known to lie in the step."""
        return self.open > UNSURE * (self.end - self.start)

    @classmethod
    def of(cls, log_n: Sequence[float], error: Sequence[float], level: float) -> Step:
        """The step of a replicate; ``error`` and ``level`` are on the scale on which errors are averaged.

        Three lines meet the level in the step: its chord, and the lines of the steps before and after, continued into
        this one and cut at its ends. For a power law, all three meet it in one point. If the error drops in this step
        only, the other two meet it at the ends. At the first and last step, the missing line is replaced by the other.
        """
        fit = list(map(float, error))
        if any(later > earlier for earlier, later in pairwise(fit)):
            from scipy.optimize import isotonic_regression  # slow to import

            fit = isotonic_regression(error, increasing=False).x.tolist()
        if fit[0] <= level:
            return cls(log_n[0], log_n[0], censored="left")
        if fit[-1] > level:
            return cls(log_n[-1], log_n[-1], censored="right")
        after = next(k for k, e in enumerate(fit) if e <= level)
        start, end = log_n[after - 1], log_n[after]
        slopes = [(e - f) / (b - a) for a, b, e, f in zip(log_n, log_n[1:], fit, fit[1:], strict=False)]
        adjacent = [slopes[k] for k in (after - 2, after) if 0 <= k < len(slopes)] or [slopes[after - 1]]
        before, later = adjacent[0], adjacent[-1]
        chord = start + (fit[after - 1] - level) / slopes[after - 1]
        continued = min(end, start + (fit[after - 1] - level) / before) if before > 0 else end
        traced_back = max(start, end - (level - fit[after]) / later) if later > 0 else start
        return cls(start, end, chord, max(chord, continued, traced_back) - min(chord, continued, traced_back))

    def crossing(self, replicate: int, unsure: bool, last: Step | None) -> Crossing:
        """The crossing, a range if some replicate is ``unsure``; ``last`` is the last step of an ill-behaved curve."""
        start, end = math.exp(self.start), math.exp(self.end)
        last_size = None if last is None else last.size(unsure)
        if self.censored:
            return Crossing(replicate, start, self.censored, last=last_size)
        return Crossing(replicate, self.size(unsure), within=(start, end) if unsure else None, last=last_size)

    def size(self, unsure: bool) -> float:
        """The best estimate of N*; inf if the level is not reached."""
        if self.censored:
            return math.inf if self.censored == "right" else math.exp(self.start)
        return math.exp((self.start + self.end) / 2 if unsure else self.chord)
