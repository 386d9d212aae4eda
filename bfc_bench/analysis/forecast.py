"""The error of a learner on a table with more rows than were tested, from the end of its learning curve.

The logarithm of the error at ``times`` n is that at n, plus its slope over the sizes from n / 4 to n times log(times),
times a factor below 1, since curves flatten; a rising curve counts as flat. The interval is in units of a size that
grows with the slope and with the standard error of the error at n. All constants are fitted to error rates of 20
learners on half of the tables of the Learning Curve Database (Mohr, Viering, Loog and van Rijn 2022), and tested on the
other half, by ``python -m benchmarks.real_curves``; ``docs/statistics.md`` has the coverage.

It holds for tables alone. The error of a drawn task can fall suddenly, which no curve foretells.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.intervals import NOTHING, Interval

LAST = 4.2
"""The slope is that over the sizes from n over this on: n / 4, up to rounding."""
UNITS = (0.011, 0.362, 0.921)
"""The size that the interval is in units of is the sum of these times 1, the fall for two times n, and the standard
error, all of them in logarithm."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How the curve goes on to a multiple of n."""

    share: float
    """Of the slope that remains."""
    below: float
    """Distance of the lower end of the 90 % interval, in units of what ``UNITS`` gives."""
    above: float
    """Distance of its upper end."""


RULES: Mapping[int, Rule] = {2: Rule(0.65, 2.78, 1.8), 4: Rule(0.65, 5.35, 2.48)}
"""The rule for each multiple of n."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The end of a learning curve."""

    log_error: float
    """Logarithm of the mean error at n."""
    slope: float
    """Slope of log error in log n over the last factor 4, by least squares; 0 if it rises."""
    standard_error: float
    """Standard error of ``log_error`` over replicates."""
    replicates: int

    @property
    def parts(self) -> tuple[float, float, float]:
        """What the unit of the interval is made of: 1, the fall of log error for two times n, the standard error."""
        return 1.0, abs(self.slope) * math.log(2), self.standard_error

    def after(self, times: int) -> Interval:
        """The error at ``times`` n with its 90 % interval."""
        rule = RULES[times]
        middle = self.log_error + rule.share * self.slope * math.log(times)
        unit = sum(weight * part for weight, part in zip(UNITS, self.parts, strict=True))
        ends = (middle - rule.below * unit, middle + rule.above * unit)
        return Interval(middle, *ends, self.replicates).exp()


def trend(curve: Curve, n: int) -> Trend | None:
    """The trend of a curve at one of its sizes; None if ``forecast`` has nothing to go on."""
    last = curve.shared & (curve.n <= n) & (curve.n * LAST >= n)
    sizes, errors = np.log(curve.n[last]), curve.mean[last]
    logs = curve.log_values[:, curve.n == n]
    logs = logs[~np.isnan(logs)]
    if len(logs) < 2 or len(sizes) < 2 or not (errors > 0).all():
        return None
    slope = float(np.polyfit(sizes, np.log(errors), 1)[0])
    return Trend(math.log(errors[-1]), min(slope, 0.0), float(logs.std(ddof=1)) / math.sqrt(len(logs)), len(logs))


def forecast(curve: Curve, n: int, times: int = 2) -> Interval:
    """The mean error over replicates at ``times`` n, with its 90 % interval, in the unit of the curve's metric.

    The result is ``NOTHING`` if fewer than 2 replicates have a value at n, or if the errors at n and at a smaller size
    from n / 4 on are not all positive. Raises ``UsageError`` if the metric may be negative.
    """
    end = trend(curve, n)
    return NOTHING if end is None else end.after(times)
