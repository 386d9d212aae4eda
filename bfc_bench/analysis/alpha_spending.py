"""Alpha spending: significance levels for the looks at a claim that keep the error rate of a single test.

A *look* is one interim analysis: the claim is tested while replicates are still added. Five looks at R = 3, 5, 8, 12
and 20 with .025 a side each would err in 8 % of cases if the truth is the bound. Instead, each look spends a part of
.025 in proportion to its new replicates (Lan and DeMets 1983, linear spending). The chances to err then add up to .025
at most, however the looks depend on each other. ``python -m benchmarks.coverage_of_looks`` measures 1.1 and 1.2 % a
side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

SCHEDULE = (3, 5, 8, 12, 20)
"""Replicates at each look, for a suite with 3 replicates."""
LAST = SCHEDULE[-1]
GROWTH = 1.6
"""Approximate factor between the replicates of one look and of the next."""
TOTAL = 0.025
"""Significance level on one side, for all looks together."""


@dataclass(frozen=True, slots=True)
class LookSchedule:
    """The planned looks at a claim and those already made. The store keeps both, so that no run starts afresh."""

    schedule: tuple[int, ...] = SCHEDULE
    total: float = TOTAL
    made: tuple[int, ...] = ()
    """Replicates at the looks already made: the first entries of the schedule."""

    @property
    def levels(self) -> tuple[float, ...]:
        """Significance level of each planned look on one side, in proportion to its new replicates."""
        before = (0, *self.schedule)
        return tuple(self.total * (r - b) / self.schedule[-1] for b, r in zip(before, self.schedule, strict=False))

    @property
    def next(self) -> int | None:
        """Replicates at the next look; None if all are made."""
        return self.schedule[len(self.made)] if len(self.made) < len(self.schedule) else None

    def confidence_at(self, replicates: int) -> float:
        """Confidence of the two-sided interval at the look with this number of replicates."""
        return 1 - 2 * self.levels[self.schedule.index(replicates)]

    @classmethod
    def of(cls, record: dict[str, Any]) -> LookSchedule:
        """The schedule with the fields of ``record``, as the store keeps them."""
        return cls(tuple(record["schedule"]), record["total"], tuple(record["made"]))


def schedule_from(first: int, last: int = LAST) -> tuple[int, ...]:
    """Replicates at each look, from ``first`` to ``last``, each about 1.6 times as many as at the look before.

    Only ``first`` if it is not below ``last``.
    """
    if first >= last:
        return (first,)
    steps = max(1, round(math.log(last / first) / math.log(GROWTH)))
    return tuple(round(first * (last / first) ** (k / steps)) for k in range(steps + 1))
