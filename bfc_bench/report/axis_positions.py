"""Where the values of an axis lie in a figure: on a logarithmic axis, on a linear one, or side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.axis import Axis
from matplotlib.ticker import NullLocator

from bfc_bench.report.style import log_axis, spaced_ticks

DECADE = 10.0
"""Positive values that span more than this have a logarithmic axis."""
SIDE_BY_SIDE = 0.015
"""Distance between the markers of two learners at one value, as a fraction of the range."""
MARGIN = 0.12
"""Margin at each end, as a fraction of the range."""


@dataclass(frozen=True)
class Positions:
    """Positions on an x axis by value."""

    at: Mapping[Any, float]
    is_log: bool
    step: float
    """Distance between learners, in logarithm on a logarithmic axis."""

    @classmethod
    def on(cls, axis: Axis, values: Sequence[Any], *, log: bool | None = None) -> Positions:
        """Set up an x axis for values and return where they lie.

        Numbers have a logarithmic axis if they are positive and span more than a decade, or are the powers of one
        number up to a factor; other numbers have a linear one. Texts stand side by side.

        Args:
            axis: The axis.
            values: Values, with repetition; numbers, or texts.
            log: Whether the axis is logarithmic; None to decide by the values.
        """
        distinct = list(dict.fromkeys(values))
        numbers = sorted(float(value) for value in distinct if not isinstance(value, str))
        if (len(numbers) == len(distinct) and is_logarithmic(numbers)) if log is None else log:
            log_axis(axis, numbers, most=6, at=spaced_ticks(numbers), pad=MARGIN)
            step = SIDE_BY_SIDE * math.log(max(numbers) / min(numbers)) if numbers else 0.0
            return cls({value: float(value) for value in distinct}, True, step)
        if len(numbers) < len(distinct):
            at = {value: float(index) for index, value in enumerate(distinct)}
        else:
            at = {value: float(value) for value in sorted(distinct)}
        first, last = min(at.values()), max(at.values())
        span = (last - first) or 1.0
        axis.axes.set_xlim(first - MARGIN * span, last + MARGIN * span)
        axis.set_ticks(list(at.values()), [f"{v:g}" if not isinstance(v, str) else v for v in at])
        axis.set_minor_locator(NullLocator())
        return cls(at, False, SIDE_BY_SIDE * span)

    def __call__(self, value: Any, side: float) -> float:
        """The position of a value, moved by ``side`` steps so that learners stand side by side."""
        x = self.at[value]
        return x * math.exp(side * self.step) if self.is_log else x + side * self.step


def is_logarithmic(numbers: Sequence[float]) -> bool:
    """Whether ascending numbers belong on a logarithmic axis."""
    if len(numbers) < 2 or numbers[0] <= 0:
        return False
    ratios = [b / a for a, b in pairwise(numbers)]
    powers = len(numbers) > 2 and max(ratios) < min(ratios) * (1 + 1e-9)
    return powers or numbers[-1] / numbers[0] > DECADE
