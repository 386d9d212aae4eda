"""Alpha spending: significance levels for the looks at a claim that keep the error rate of a single test.

A *look* is one interim analysis: the claim is tested while replicates are still added. Five looks at R = 3, 5, 8, 12
and 20 with .025 a side each would err in 8 % of cases if the truth is the bound. Instead, each look spends a part of
.025 in proportion to its new replicates (Lan and DeMets 1983, linear spending). The chances to err then add up to .025
at most, however the looks depend on each other. ``python -m benchmarks.coverage_of_looks`` measures 1.1 and 1.2 % a
side.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

SCHEDULE = (3, 5, 8, 12, 20)
"""Replicates at each look, for a suite with 3 replicates."""
LAST = SCHEDULE[-1]
GROWTH = 1.6
"""Approximate factor between the replicates of one look and of the next."""
TOTAL = 0.025
"""Significance level on one side, for all looks together."""


def levels(schedule: Sequence[int], total: float = TOTAL) -> tuple[float, ...]:
    """Significance level of each look on one side, in proportion to its new replicates."""
    return tuple(total * (r - before) / schedule[-1] for before, r in pairwise((0, *schedule)))


def schedule_from(first: int, last: int = LAST) -> tuple[int, ...]:
    """Replicates at each look, from ``first`` to ``last``, each about 1.6 times as many as at the look before.

    Only ``first`` if it is not below ``last``.
    """
    if first >= last:
        return (first,)
    steps = max(1, round(math.log(last / first) / math.log(GROWTH)))
    return tuple(round(first * (last / first) ** (k / steps)) for k in range(steps + 1))
