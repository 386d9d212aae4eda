"""Measures calls in turn (A B A B) and summarises times and ratios of pairs by median, minimum and maximum."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

Clock = Callable[[], float]

own_cpu: Clock = time.process_time
"""CPU seconds of this process, all threads."""


def children_cpu() -> float:
    """CPU seconds of child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def all_cpu() -> float:
    """CPU seconds of this process and of its ended children."""
    return own_cpu() + children_cpu()


@dataclass(frozen=True)
class Spread:
    """Median, minimum and maximum of a few values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """The spread of ``values``."""
        return cls(median(values), min(values), max(values))


@dataclass(frozen=True)
class Measurement:
    """One line of the table. Times are per ``unit``; a ratio is the opponent's time divided by ours."""

    what: str
    unit: str
    ours: Spread
    count: int
    """Number of pairs, or of repetitions without an opponent."""
    opponent: str = ""
    theirs: Spread | None = None
    ratio: Spread | None = None
    goal: float | None = None
    """Smallest accepted median ratio; without an opponent, largest accepted median time."""
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met, or None without a goal."""
        if self.goal is None:
            return None
        return self.ours.median <= self.goal if self.ratio is None else self.ratio.median >= self.goal

    def record(self) -> dict[str, Any]:
        """The line as plain data."""
        return {**asdict(self), "met": self.met}


@dataclass(frozen=True)
class Pairs:
    """Times of our calls and of the opponent's, in the clock's unit."""

    ours: Sequence[float]
    theirs: Sequence[float]
    results: tuple[Any, Any]
    """Results of the last calls."""

    def measurement(
        self,
        what: str,
        opponent: str,
        unit: str,
        *,
        goal: float | None = None,
        ours_scale: float = 1.0,
        theirs_scale: float = 1.0,
        note: str = "",
    ) -> Measurement:
        """The line of the table."""
        ours, theirs = ([t * s for t in times] for times, s in ((self.ours, ours_scale), (self.theirs, theirs_scale)))
        ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
        return Measurement(
            what, unit, Spread.of(ours), len(ratios), opponent, Spread.of(theirs), Spread.of(ratios), goal, note
        )


def timed(call: Callable[[], object], clock: Clock = own_cpu) -> float:
    """Time that ``call`` takes by ``clock``."""
    start = clock()
    call()
    return clock() - start


def interleave(
    ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int, *, clock: Clock = own_cpu, warm: bool = True
) -> Pairs:
    """Call two functions in turn and time them."""
    times: tuple[list[float], list[float]] = ([], [])
    results: list[Any] = [None, None]
    for counts in [False] * warm + [True] * pairs:
        for side, call in enumerate((ours, theirs)):
            start = clock()
            results[side] = call()
            if counts:
                times[side].append(clock() - start)
    return Pairs(*times, (results[0], results[1]))
