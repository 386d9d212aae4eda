"""The axes of figures: their range, ticks and labels, and where values of an axis lie."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

SMALLEST, LARGEST = 1e-140, 1e140
"""Between these, margins and the ratio of two values are numbers too."""
BEYOND = 1e3
"""What leaves a logarithmic axis ends at so many times its largest value."""
SIDE_BY_SIDE = 0.015
"""Distance between the markers of two learners at one value, as a fraction of the range."""
AMONG_TEXTS = 0.08
"""The same for values that are texts, as a fraction of the distance between two of them."""
MARGIN = 0.12
"""Margin at each end of an axis of positions, as a fraction of the range."""


@dataclass(frozen=True)
class Axis:
    """One axis of all panels of a figure."""

    field: str
    """Field of the records."""
    title: str
    domain: tuple[float, float]
    ticks: Sequence[float] = ()
    """Where ticks are; chosen by the figure if empty."""
    names: Sequence[str] = ()
    """Texts of the ticks; numbers if empty."""
    log: bool = True

    def place(self, value: float) -> float:
        """The number at which a value is drawn: one that is far outside of the axis is cut. nan remains."""
        lo, hi = sorted(self.domain)
        least, most = (lo / BEYOND, hi * BEYOND) if self.log else (lo - BEYOND * (hi - lo), hi + BEYOND * (hi - lo))
        return min(max(value, least), most)


def log_axis(
    field: str, title: str, values: Iterable[float], *, most: int = 8, at: Sequence[float] = (), pad: float = 0.06
) -> Axis:
    """A logarithmic axis that fits values, with ticks at those of ``at`` that stand apart, else at round numbers."""
    positive = [float(v) for v in values if SMALLEST < v < LARGEST] or [0.1, 1.0]
    lo, hi = min(positive), max(positive)
    margin = (hi / lo) ** pad if hi > lo * 1.01 else 1.6
    lo, hi = lo / margin, hi * margin
    return Axis(field, title, (lo, hi), spaced_ticks(sorted(set(at))) or log_ticks(lo, hi, most))


def log_ticks(lo: float, hi: float, most: int) -> list[float]:
    """The densest series of round numbers in an interval, with decades left out if needed."""
    first, last = math.floor(math.log10(lo)), math.ceil(math.log10(hi))
    for mantissas in ((1, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5, 7), (1, 2, 5), (1,)):
        ticks = [m * 10.0**e for e in range(first, last + 1) for m in mantissas if lo <= m * 10.0**e <= hi]
        if len(ticks) <= most:
            return ticks
    stride = math.ceil((last - first) / most)
    return [10.0**e for e in range(first, last + 1) if e % stride == 0 and lo <= 10.0**e <= hi]


def spaced_ticks(values: Sequence[float]) -> list[float]:
    """The first, the last and those of the ascending ``values`` that are 16 % of their log range apart."""
    if len(values) < 3:
        return list(values)
    ticks, gap = [values[0]], 0.16 * math.log(values[-1] / values[0])
    for value in values[1:-1]:
        if min(math.log(value / ticks[-1]), math.log(values[-1] / value)) >= gap:
            ticks.append(value)
    return [*ticks, values[-1]]


def positions_on(field: str, title: str, values: Sequence[Any]) -> tuple[Axis, Callable[[Any, float], float]]:
    """An axis for values, and the position of a value, moved by a number of steps so that learners stand side by side.

    Positive numbers have a logarithmic axis, on which an exponent is a slope; other numbers have a linear one. Texts
    stand side by side.
    """
    numbers = sorted(float(value) for value in values if not isinstance(value, str))
    if len(numbers) == len(values) and all(number > 0 for number in numbers):
        step = SIDE_BY_SIDE * math.log(max(numbers) / min(numbers)) if numbers else 0.0
        axis = log_axis(field, title, numbers, at=numbers, pad=MARGIN)
        return axis, lambda value, side: value * math.exp(side * step)
    if len(numbers) < len(values):
        at = {value: float(index) for index, value in enumerate(values)}
    else:
        at = {value: float(value) for value in sorted(values)}
    first, last = min(at.values()), max(at.values())
    span = (last - first) or 1.0
    step = SIDE_BY_SIDE * span if len(numbers) == len(values) else AMONG_TEXTS
    names = [f"{v:g}" if not isinstance(v, str) else v for v in at]
    axis = Axis(field, title, (first - MARGIN * span, last + MARGIN * span), list(at.values()), names, log=False)
    return axis, lambda value, side: at[value] + side * step
