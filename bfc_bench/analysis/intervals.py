"""Student-t intervals over replicates: the ones that cover at 3 to 10 replicates, where bootstraps do not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % interval; the bounds are nan where one value cannot give any."""

    mean: float
    lo: float
    hi: float
    count: int
    """Values used."""

    def exp(self) -> Interval:
        """The interval of exp(quantity), for a quantity averaged in logarithms."""
        return Interval(math.exp(self.mean), math.exp(self.lo), math.exp(self.hi), self.count)

    def __str__(self) -> str:
        return f"{self.mean:.3g}" + ("" if math.isnan(self.lo) else f" [{self.lo:.3g}, {self.hi:.3g}]")


NOTHING = Interval(math.nan, math.nan, math.nan, 0)


def t_quantile(degrees: float, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t: 12.7 at 1 degree of freedom, 1.96 in the limit."""
    from scipy import stats

    return float(stats.t.ppf((1 + confidence) / 2, degrees))


def t_interval(values: Sequence[float] | np.ndarray) -> Interval:
    """Mean of R values, m ± t_{R-1} s / sqrt(R). Values that are nan are left out; R = 1 gives nan bounds."""
    x = np.asarray(values, dtype=float)
    x = x[~np.isnan(x)]
    if x.size == 0:
        return NOTHING
    mean = float(x.mean())
    if x.size == 1:
        return Interval(mean, math.nan, math.nan, 1)
    half = t_quantile(x.size - 1) * float(x.std(ddof=1)) / math.sqrt(x.size)
    return Interval(mean, mean - half, mean + half, x.size)


def geometric_mean(values: Sequence[float] | np.ndarray) -> Interval:
    """Geometric mean of R positive values, exp(m ± t_{R-1} s / sqrt(R)) with m, s of the logarithms.

    Values that are nan are left out; R = 1 gives nan bounds. Raises ``ValueError`` for a value that is not positive.
    The interval does not survive rare failures: show the worst value and the count of failures beside it.
    """
    x = np.asarray(values, dtype=float)
    if (x <= 0).any():
        raise ValueError(f"geometric_mean: values must be positive. Got {x.min()!r} instead; clip to a floor first.")
    return t_interval(np.log(x)).exp()
