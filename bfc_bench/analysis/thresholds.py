"""N*(eps): the sample size at which a learning curve reaches an error, replicate by replicate.

Between two tested sizes a curve is taken as a power law where the slopes before and after allow that. Where they do
not, as where the error drops within one step, N* is known to lie between these sizes and nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval, range_interval
from bfc_bench.errors import UsageError

UNSURE = 0.5
"""Of the step between two tested sizes, in logarithm: where a curve's slopes leave N* open by more, it is known to lie
in the step and nothing more. Coverage and bias of N* chose it (docs/statistics.md): steps everywhere make the intervals
of smooth curves up to five times as wide."""
RISE = 2.0
"""A curve that is above the level again by this factor of the lowest error before is ill-behaved."""
NOISE = 3.0
"""Times the scatter of the steps of its replicates that it must rise, too."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where one replicate reaches the level: at ``n``, or beyond the tested sizes."""

    replicate: int
    n: float
    """N*, or the bound on it: the largest tested size (right-censored) or the smallest (left-censored). The geometric
    middle where a range is known."""
    censored: Literal["left", "right"] | None = None
    within: tuple[float, float] | None = None
    """The tested sizes between which N* lies, where the curve does not say it better."""
    last: float | None = None
    """Of an ill-behaved curve, which rises above the level again beyond noise: where it comes down to it for the last
    time, inf where it ends above. ``n`` is where it does so first."""

    @property
    def log_bounds(self) -> tuple[float, float]:
        """The interval that log N* is known to lie in; a point where it is neither censored nor a range."""
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
        """Replicates that reach the level at the smallest tested size already."""
        return sum(crossing.censored == "left" for crossing in self.crossings)

    @property
    def right(self) -> int:
        """Replicates that do not reach the level at the largest tested size."""
        return sum(crossing.censored == "right" for crossing in self.crossings)

    @property
    def ill_behaved(self) -> int:
        """Replicates whose error rises above the level again, beyond noise, after having reached it."""
        return sum(crossing.last is not None for crossing in self.crossings)

    @property
    def last(self) -> float:
        """Geometric mean of the sizes from which on the error stays at the level; inf where that of one is not reached.

        The same as that of N* where no curve is ill-behaved; nan without crossings.
        """
        sizes = [math.inf if c.censored == "right" else c.n if c.last is None else c.last for c in self.crossings]
        return math.exp(sum(map(math.log, sizes)) / len(sizes)) if sizes else math.nan

    @property
    def interval(self) -> Interval:
        """Geometric mean of N* with its interval (``range_interval``); nan where any replicate is censored."""
        if self.left or self.right or not self.crossings:
            return NOTHING
        lower, upper = zip(*(crossing.log_bounds for crossing in self.crossings), strict=True)
        return range_interval(lower, upper).exp()

    @property
    def median(self) -> tuple[float, float]:
        """Bounds on the median N*: equal where it is known, 0 or inf where censoring leaves a side open.

        Of a range its middle counts.
        """
        if not self.crossings:
            return math.nan, math.nan
        lower = [-math.inf if c.censored == "left" else math.log(c.n) for c in self.crossings]
        upper = [math.inf if c.censored == "right" else math.log(c.n) for c in self.crossings]
        return math.exp(_median(lower)), math.exp(_median(upper))


@dataclass(frozen=True, slots=True)
class Reached:
    """N*(level) of one learner on one task at one d."""

    task: str
    d: int
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    level: float
    threshold: Threshold

    def as_dict(self) -> dict[str, Any]:
        """A flat record.

        ``n_star`` is the geometric mean with its interval, nan where a replicate is censored, ``median`` nan where
        censoring hides it; ``below`` and ``beyond`` count the replicates that are censored on either side,
        ``ill_behaved`` those whose error rises above the level again; ``last`` is the geometric mean of the sizes from
        which on it does not, inf where one ends above.
        """
        interval, (lower, upper) = self.threshold.interval, self.threshold.median
        return {
            "task": self.task,
            "d": self.d,
            "label": self.label,
            "metric": self.metric,
            "level": self.level,
            "n_star": interval.mean,
            "lo": interval.lo,
            "hi": interval.hi,
            "median": lower if lower == upper else math.nan,
            "replicates": len(self.threshold.crossings),
            "below": self.threshold.left,
            "beyond": self.threshold.right,
            "ill_behaved": self.threshold.ill_behaved,
            "last": self.threshold.last,
        }


def crossings(curve: Curve, level: float) -> list[Crossing]:
    """N*(level) of each replicate: the least n at which its error, freed from noise, is at or below the level.

    Of a curve that is above the level again, by ``RISE`` and beyond noise, that is the first crossing: who has more
    samples may leave some away, and what a curve does elsewhere, or at the end of the grid, does not move it. The last
    one stands beside it. Isotonic regression over both would give a number between them, at which nothing happens.

    Isotonic (non-increasing) regression of log error on log n, then log-log interpolation; on a linear scale regression
    of the error itself, and interpolation that is linear in it and in log n. Where the slopes of some replicate leave
    its N* open (``UNSURE``), that of every replicate lies between the tested sizes around it, and nothing is
    interpolated: points among ranges would pass for values known without error, and the likelihood follow them. A
    replicate whose fit is at or below the level at its smallest size is left-censored there, one that is above it at
    its largest size right-censored there. Sizes without a value are left out, and so are replicates without any, and
    those that were tried at few sizes only (``Curve.traced``).
    Raises ``UsageError`` where ``level`` is not positive.
    """
    if not level > 0:
        raise UsageError(f"crossings: level must be positive. Got {level!r}.")
    linear = curve.scale == "linear"
    bound = level if linear else math.log(level)
    rise = max(level * (RISE - 1) if linear else math.log(RISE), NOISE * curve.noise)
    log_n = np.log(curve.n).tolist()
    steps = []
    for replicate, error, traced in zip(curve.replicates, curve.scaled.tolist(), curve.traced, strict=True):
        errors = [e for e in error if not math.isnan(e)]
        if traced and errors:
            sizes = [size for size, e in zip(log_n, error, strict=True) if not math.isnan(e)]
            steps.append((replicate, *_first_and_last(sizes, errors, bound, rise)))
    unsure = any(step.unsure for _, first, last in steps for step in (first, last) if step)
    return [first.crossing(replicate, unsure, last) for replicate, first, last in steps]


def _first_and_last(
    log_n: Sequence[float], error: Sequence[float], level: float, rise: float
) -> tuple[_Step, _Step | None]:
    """The step down to the level; of a curve that is above it again by ``rise`` the first one and the last."""
    lowest = list(accumulate(error, min))
    back = [k for k, e in enumerate(error) if e > level >= lowest[k] and e - lowest[k] > rise]
    if not back:
        return _Step.of(log_n, error, level), None
    turn = error.index(lowest[back[0]])
    return _Step.of(log_n[: turn + 1], error[: turn + 1], level), _Step.of(log_n[back[-1] :], error[back[-1] :], level)


def _falling(values: Sequence[float]) -> list[float]:
    """Isotonic regression: the non-increasing numbers nearest to ``values`` in squares, by pooling adjacent violators.

    ``scipy.optimize.isotonic_regression`` with the same roundings, in less time than it takes to call it for a few.
    """
    left = list(values)  # from the last on: the regression is one of numbers that do not fall
    blocks: list[tuple[float, int]] = []
    while left:
        mean, count = left.pop(), 1
        if blocks and blocks[-1][0] >= mean:
            below, members = blocks.pop()
            total, count = members * below + mean, members + 1
            mean = total / count
            while left and mean >= left[-1]:
                total, count = total + left.pop(), count + 1
                mean = total / count
            while blocks and blocks[-1][0] >= mean:
                below, members = blocks.pop()
                total, count = total + members * below, count + members
                mean = total / count
        blocks.append((mean, count))
    return [mean for mean, count in reversed(blocks) for _ in range(count)]


def threshold(curve: Curve, level: float) -> Threshold:
    """N*(level) over the replicates of a curve. Raises ``UsageError`` where ``level`` is not positive."""
    return Threshold(level, tuple(crossings(curve, level)))


def thresholds(curves: Iterable[Curve], levels: Sequence[float]) -> list[Reached]:
    """N* of each curve at each level. Raises ``UsageError`` where a level is not positive."""
    return [
        Reached(curve.task, curve.d, curve.name, curve.metric, level, threshold(curve, level))
        for curve in curves
        for level in levels
    ]


@dataclass(frozen=True, slots=True)
class _Step:
    """The two neighbouring sizes, in logarithm, between which a replicate comes down to the level."""

    start: float
    end: float
    chord: float = math.nan
    """Where the straight line between them meets the level."""
    open: float = 0.0
    """How far apart the curve's slopes let N* lie, in logarithm."""
    censored: Literal["left", "right"] | None = None

    @property
    def unsure(self) -> bool:
        return self.open > UNSURE * (self.end - self.start)

    @classmethod
    def of(cls, log_n: Sequence[float], error: Sequence[float], level: float) -> _Step:
        """Of errors on the scale on which they are averaged, as ``level`` is.

        Three lines meet the level in the step: its own chord, and those of the steps before and after, continued into
        this one and cut at its ends. Where the curve is a power law they meet it in one point; where it drops in this
        step only, those of its neighbours meet it at the ends. Beyond the tested sizes it is taken to go on as on the
        other side.
        """
        fit = _falling(error)
        if fit[0] <= level:
            return cls(log_n[0], log_n[0], censored="left")
        if fit[-1] > level:
            return cls(log_n[-1], log_n[-1], censored="right")
        after = next(k for k, e in enumerate(fit) if e <= level)
        start, end = log_n[after - 1], log_n[after]
        slopes = [(e - f) / (b - a) for a, b, e, f in zip(log_n, log_n[1:], fit, fit[1:], strict=False)]
        near = [slopes[k] for k in (after - 2, after) if 0 <= k < len(slopes)] or [slopes[after - 1]]
        before, later = near[0], near[-1]
        chord = start + (fit[after - 1] - level) / slopes[after - 1]
        continued = min(end, start + (fit[after - 1] - level) / before) if before > 0 else end
        traced = max(start, end - (level - fit[after]) / later) if later > 0 else start
        return cls(start, end, chord, max(chord, continued, traced) - min(chord, continued, traced))

    def crossing(self, replicate: int, unsure: bool, last: _Step | None) -> Crossing:
        """``unsure``: some replicate of the curve is; ``last``: the last step down, where it is another."""
        start, end = math.exp(self.start), math.exp(self.end)
        again = None if last is None else last.size(unsure)
        if self.censored:
            return Crossing(replicate, start, self.censored, last=again)
        return Crossing(replicate, self.size(unsure), within=(start, end) if unsure else None, last=again)

    def size(self, unsure: bool) -> float:
        """The best guess of N*; inf where the level is not reached."""
        if self.censored:
            return math.inf if self.censored == "right" else math.exp(self.start)
        return math.exp((self.start + self.end) / 2 if unsure else self.chord)


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2
