"""Evidence of replicates about the mean of a quantity, and the region in which a claim says that it lies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np

from bfc_bench.analysis.intervals import CONFIDENCE, range_interval, skewness, t_quantile, two_sided_p
from bfc_bench.analysis.skewed_t import cautious_p, cautious_reach

Word: TypeAlias = Literal["supported", "contradicted", "undecided"]
Side: TypeAlias = Literal["below", "above"]
Range: TypeAlias = tuple[float, float]
"""The two ends of a range."""
MIN_REPLICATES = 3
"""With fewer replicates there is no verdict."""
ENOUGH = 8
"""From so many replicates on, ranges or bounds that all lie on one side of a number put the mean there by this alone:
if half of all values, or 63 % of skewed ones (exponential law), lay there, 8 of 8 would with .4 or 2.5 %."""


@dataclass(frozen=True, slots=True)
class Region:
    """The values that a claim allows, ends included."""

    lo: float = -math.inf
    hi: float = math.inf

    def log(self) -> Region:
        """The region of the logarithm of a positive quantity."""
        return Region(*(math.log(x) if x > 0 else -math.inf for x in (self.lo, self.hi)))

    def word(self, lo: float, hi: float) -> Word:
        """The verdict from the interval [lo, hi]: contradicted if it does not touch the region."""
        if self.lo <= lo and hi <= self.hi:
            return "supported"
        return "contradicted" if hi < self.lo or lo > self.hi else "undecided"

    def __str__(self) -> str:
        """``≤ 0.01``, ``≥ 2`` or ``in [0.909, 1.1]``."""
        if math.isinf(self.lo) or math.isinf(self.hi):
            return f"≤ {short(self.hi)}" if math.isinf(self.lo) else f"≥ {short(self.lo)}"
        return f"in [{short(self.lo)}, {short(self.hi)}]"


@dataclass(frozen=True)
class Evidence:
    """What replicates show of the mean of a quantity; a side is open if some values are only bounds."""

    ranges: tuple[Range, ...]
    """Ends of the range in which the value of each replicate lies; both are the value if it is known."""
    count: int
    """Number of replicates that the interval is for: those of ``ranges``, or those of ``at``."""
    open_below: bool = False
    """Whether some values are only upper bounds, so that the interval has no lower end."""
    open_above: bool = False
    """Whether some values are only lower bounds, so that the interval has no upper end."""
    notes: tuple[str, ...] = ()
    refused: str = ""
    """Why there is no interval; empty if there is one."""
    fixed: str = ""
    """Why more replicates would not narrow the interval; empty if they would."""
    symmetric: bool = False
    """Whether the values are assumed not to be skewed, so that the interval is Student's."""
    only_bounds: bool = False
    """Whether every value is a bound, so that the mean lies beyond theirs, and a side is open."""
    overlap: float = 0.0
    """What is added to 1 / R in the variance of the mean because replicates share test points (``Curve.overlap``)."""
    pseudo: bool = False
    """Whether the values are pseudo-values of something computed from all replicates, and not those of single ones."""

    @cached_property
    def values(self) -> np.ndarray:
        """The values of the replicates, or the middles of their ranges, (R,)."""
        return np.array([(lo + hi) / 2 for lo, hi in self.ranges])

    @property
    def _ends(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper ends of the ranges, (R,) each."""
        return tuple(lo for lo, _ in self.ranges), tuple(hi for _, hi in self.ranges)

    @property
    def mean(self) -> float:
        """Mean of the values (``range_interval``); nan if there are none."""
        return range_interval(*self._ends).mean

    @property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest value of a replicate; nan if replicates have no value of their own."""
        if self.pseudo or not self.values.size:
            return math.nan, math.nan
        return float(self.values.min()), float(self.values.max())

    @cached_property
    def errors(self) -> tuple[float, float]:
        """Standard errors of the mean for the lower and for the upper end of the interval.

        They differ if values are ranges, and are then no less than that of their middles, since ranges that are too
        wide would explain what is in truth spread. Those of ``count`` replicates with the same spread.
        """
        size = self.values.size
        if size < 2:
            return math.nan, math.nan
        below = above = 0.0 if _same(self.values) else float(self.values.std(ddof=1)) / math.sqrt(size)
        if any(lo < hi for lo, hi in self.ranges):
            interval, t = range_interval(*self._ends), t_quantile(size - 1)
            below, above = max(below, (interval.mean - interval.lo) / t), max(above, (interval.hi - interval.mean) / t)
        scale = math.sqrt(size / self.count + size * self.overlap)
        return below * scale, above * scale

    @property
    def degrees(self) -> float:
        """Degrees of freedom of Student's t."""
        return self.count - 1

    @cached_property
    def skewness(self) -> float:
        """Skewness of the values; nan if it is unknown or assumed to be 0, and then the interval is Student's.

        Ranges that all overlap do not show it.
        """
        alike = max(self._ends[0], default=0.0) <= min(self._ends[1], default=0.0)
        return math.nan if self.symmetric or alike else skewness(self.values)

    def at(self, count: int) -> Self:
        """The evidence of ``count`` replicates with the same mean, spread and skewness."""
        return replace(self, count=min(count, self.count) if self.fixed else count, refused="")

    def bounds(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The interval; infinite on an open side, and on both sides if the evidence is refused."""
        if self.refused:
            return -math.inf, math.inf
        lo, hi = self.mean - self.reach("below", confidence), self.mean + self.reach("above", confidence)
        if self._p_of_brackets <= 1 - confidence:
            lo, hi = max(lo, self._brackets[0]), min(hi, self._brackets[1])
        elif self.same_bounds:
            return -math.inf, math.inf
        return -math.inf if self.open_below else lo, math.inf if self.open_above else hi

    def reach(self, side: Side, confidence: float) -> float:
        """Distance from the mean to the end of the interval on one side: Student's t, widened for skewed values."""
        error, skew = self._on(side)
        return cautious_reach(confidence, self.degrees, self.count, skew) * error

    def of_symmetric_values(self) -> Self:
        """The evidence with Student's interval, which assumes that the values are not skewed."""
        return replace(self, symmetric=True)

    def p_inside(self, region: Region) -> float:
        """The significance level at which the interval just lies inside the region; 1 if there is none."""
        lo, hi = self._brackets
        below = 0.0 if math.isinf(region.lo) else self._p(self.mean - region.lo, "below", region.lo <= lo)
        above = 0.0 if math.isinf(region.hi) else self._p(region.hi - self.mean, "above", hi <= region.hi)
        return max(below, above)

    def p_outside(self, region: Region) -> float:
        """The significance level at which the interval just lies outside the region; 1 if there is none."""
        lo, hi = self._brackets
        above, below = region.lo - self.mean, self.mean - region.hi
        return min(self._p(above, "above", hi < region.lo), self._p(below, "below", region.hi < lo))

    def _p(self, distance: float, side: Side, beyond: bool) -> float:
        """Two-sided p of a bound that lies ``distance`` from the mean on one side, and ``beyond`` all ranges or not."""
        error, skew = self._on(side)
        if self.refused or self.is_open(side) or not distance >= 0:
            return 1.0
        p = self._p_of_brackets if beyond else 1.0
        if not error > 0:
            return p if self.only_bounds else 0.0
        return min(p, cautious_p(distance / error, self.degrees, self.count, skew))

    @property
    def same_bounds(self) -> bool:
        """Whether all values are the same bound."""
        return self.only_bounds and _same(np.array(self.ranges))

    @property
    def _brackets(self) -> Range:
        """The ends of the ranges of all replicates."""
        lower, upper = self._ends
        return min(lower, default=-math.inf), max(upper, default=math.inf)

    @property
    def _p_of_brackets(self) -> float:
        """Two-sided p of a mean beyond the ranges or bounds of all replicates; 1 if there are too few, and for values.

        If the values are not skewed, it is that of the likelihood: beyond all ranges it is at most 2^-R of that within,
        which ``t_drop`` excludes from R = 5 on. Else it is that of a sign test, from ``ENOUGH`` replicates on.
        """
        if not self.only_bounds and all(lo == hi for lo, hi in self.ranges):
            return 1.0
        count = self.count if self.same_bounds else len(self.ranges)
        if self.symmetric:
            return two_sided_p(math.sqrt(3 * (count - 1)), count - 1)
        return 2.0 ** (1 - count) if count >= ENOUGH else 1.0

    def is_open(self, side: Side) -> bool:
        """Whether the interval has no end on this side."""
        return self.open_below if side == "below" else self.open_above

    def _on(self, side: Side) -> tuple[float, float]:
        """Standard error and skewness as the end on this side needs them.

        The skewness is positive if the tail of the values lies on this side.
        """
        below, above = self.errors
        return (below, -self.skewness) if side == "below" else (above, self.skewness)


def evidence(
    values: Iterable[float | Range],
    *,
    open_below: bool = False,
    open_above: bool = False,
    only_bounds: bool = False,
    overlap: float = 0.0,
    notes: Sequence[str] = (),
) -> Evidence:
    """Evidence about the mean of R values, one per replicate, or of values that lie in ranges.

    It is refused if R < 3 or if all values are known and equal, and not ``only_bounds``.
    """
    ranges = tuple(value if isinstance(value, tuple) else (float(value),) * 2 for value in values)
    refused = ""
    if len(ranges) < MIN_REPLICATES:
        refused = f"replicates with a value: {len(ranges)}; at least {MIN_REPLICATES} are needed"
    elif not only_bounds and all(lo == hi for lo, hi in ranges) and _same(np.array(ranges)):
        refused = "zero variance: the value is the same in every replicate, so no interval exists"
    return Evidence(
        ranges, len(ranges), open_below, open_above, tuple(notes), refused, only_bounds=only_bounds, overlap=overlap
    )


def nothing(reason: str) -> Evidence:
    """Missing evidence, with the reason."""
    return Evidence((), 0, refused=reason)


def _same(values: np.ndarray) -> bool:
    """Whether values are equal up to rounding."""
    return float(np.ptp(values)) <= 1e-12 * float(np.abs(values).max())


def short(x: float) -> str:
    """A number with three digits and no superfluous zeros: ``0.01``, ``1e-5``."""
    return re.sub(r"e([+-])0*", lambda match: "e" + match[1].strip("+"), f"{x:.3g}")
