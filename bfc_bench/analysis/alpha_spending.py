"""Verdicts that are taken again as replicates come in, at a rate of error that is that of one look.

Looking at R = 3, 5, 8, 12 and 20 with the usual .025 on each side is wrong in 8 % at the boundary. Each look spends a
part of .025 in proportion to the replicates that are new (Lan and DeMets 1983, linear spending), so the sum of the
chances to err is .025 at most, however the looks depend on each other: ``bfc-bench check --statistics`` measures 2.1 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bfc_bench.errors import UsageError

SCHEDULE = (3, 5, 8, 12, 20)
"""Replicates at which is looked, of a suite that has 3."""
LAST = SCHEDULE[-1]
GROWTH = 1.6
"""Of the replicates from one look to the next, about."""
TOTAL = 0.025
"""Chance to err on one side, of all looks together."""


@dataclass(frozen=True, slots=True)
class LookSchedule:
    """The looks that a suite plans and those it has made: they are part of its record, so that none starts afresh."""

    schedule: tuple[int, ...] = SCHEDULE
    total: float = TOTAL
    made: tuple[int, ...] = ()
    """Replicates at the looks made, a beginning of the schedule."""

    def __post_init__(self) -> None:
        """Raises ``UsageError`` for a schedule that does not rise or looks that are not its beginning."""
        rising = all(a < b for a, b in zip(self.schedule, self.schedule[1:], strict=False))
        if not self.schedule or self.schedule[0] < 2 or not rising:
            raise UsageError(f"looks: the schedule must rise from 2 replicates or more. Got {self.schedule}.")
        if not 0 < self.total < 0.5:
            raise UsageError(f"looks: the total must lie between 0 and .5. Got {self.total!r}.")
        if self.made != self.schedule[: len(self.made)]:
            raise UsageError(f"looks: those made must begin the schedule {self.schedule}. Got {self.made}.")

    @property
    def levels(self) -> tuple[float, ...]:
        """What each planned look spends on one side: in proportion to its new replicates."""
        before = (0, *self.schedule)
        return tuple(self.total * (r - b) / self.schedule[-1] for b, r in zip(before, self.schedule, strict=False))

    @property
    def spent(self) -> float:
        """What the looks made have spent on one side."""
        return sum(self.levels[: len(self.made)])

    @property
    def next(self) -> int | None:
        """Replicates at the next look; None where all are made."""
        return self.schedule[len(self.made)] if len(self.made) < len(self.schedule) else None

    @property
    def confidence(self) -> float:
        """Of the two-sided interval that decides at the last look made. Raises ``UsageError`` before the first."""
        if not self.made:
            raise UsageError("looks: no look has been made; ask after look().")
        return self.confidence_at(self.made[-1])

    def confidence_at(self, replicates: int) -> float:
        """Of the two-sided interval that decides at the look at so many replicates."""
        return 1 - 2 * self.levels[self.schedule.index(replicates)]

    def look(self, replicates: int) -> LookSchedule:
        """The record with one more look. Raises ``UsageError`` at another number of replicates than the next one."""
        if replicates != self.next:
            raise UsageError(f"looks: the next look is at {self.next} replicates. Got {replicates}.")
        return LookSchedule(self.schedule, self.total, (*self.made, replicates))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for a record, from which ``of`` makes it again."""
        return {"schedule": list(self.schedule), "total": self.total, "made": list(self.made)}

    @classmethod
    def of(cls, record: dict[str, Any]) -> LookSchedule:
        """From what ``as_dict`` gave."""
        return cls(tuple(record["schedule"]), record["total"], tuple(record["made"]))


def schedule_from(first: int, last: int = LAST) -> tuple[int, ...]:
    """Looks from ``first`` replicates to ``last``, each with about 1.6 times those of the one before.

    ``first`` alone where it is not below ``last``: there is nothing to add.
    """
    if first >= last:
        return (first,)
    steps = max(1, round(math.log(last / first) / math.log(GROWTH)))
    return tuple(round(first * (last / first) ** (k / steps)) for k in range(steps + 1))


def constant(schedule: Sequence[int] = SCHEDULE, level: float = TOTAL) -> tuple[float, ...]:
    """The level of one look at every look: what must not be done, for the self-test to show."""
    return (level,) * len(schedule)
