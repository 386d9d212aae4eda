"""What theory says of sample sizes, beside what is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from bfc_bench.analysis.thresholds import Reached
from bfc_bench.learner import Theory
from bfc_bench.tasks.targets.harmonics import harmonics_dimension

Theories: TypeAlias = Mapping[tuple[str, int, str], Theory]
"""What learners offer, by task, d and label."""

LARGEST = 1e9
"""No N* is looked for beyond so many points."""


def slope(sizes: Mapping[int, float], dims: Sequence[int]) -> float:
    """Least-squares slope of log N on log d over ``dims``, N by d; nan below two of them, or where one is missing."""
    known = [sizes.get(d, math.nan) for d in dims]
    if len(dims) < 2 or not all(0 < n < math.inf for n in known):
        return math.nan
    return float(np.polyfit(np.log(dims), [math.log(n) for n in known], 1)[0])  # integers may be beyond NumPy's


def harmonics_slope(dims: Sequence[int], p: int) -> float:
    """Least-squares slope of log B(d, p) on log d over two dimensions or more, nan over fewer.

    The exponent of a learner whose N* is proportional to B(d, p), the number of harmonics of degree p, as it is for
    rotation-invariant kernels (NR Theorem 3). It tends to p, from below, only at large d.
    """
    return slope({d: harmonics_dimension(d, p) for d in dims}, dims)


@lru_cache(maxsize=4096)
def expected_n_star(theory: Theory, level: float) -> float:
    """The least n at which the theory's curve is at ``level``; inf beyond 10^9, nan where the curve has no value.

    Looked for in steps of sqrt(2), so that a peak that is narrower, such as that of a kernel of finite rank, may be
    passed over.
    """
    from scipy.optimize import brentq

    def above(log_n: float) -> float:
        return theory.nmse(math.exp(log_n)) - level

    before, here = 0.0, 0.0
    while (distance := above(here)) > 0:
        before, here = here, here + math.log(2) / 2
        if here > math.log(LARGEST):
            return math.inf
    if math.isnan(distance):
        return math.nan
    return 1.0 if here == 0 else math.exp(brentq(above, before, here, xtol=1e-9))


def expected_sizes(theories: Theories, task: str, label: str, level: float, dims: Sequence[int]) -> dict[int, float]:
    """The theory's N*(level) at those of ``dims`` for which there is one."""
    return {d: expected_n_star(found, level) for d in dims if (found := theories.get((task, d, label)))}


def expected_exponent(theories: Theories, task: str, label: str, level: float, dims: Sequence[int]) -> float:
    """Least-squares slope of the theory's log N*(level) on log d over ``dims``; nan where an N* is missing."""
    return slope(expected_sizes(theories, task, label, level, dims), dims)


@dataclass(frozen=True, slots=True)
class Expected:
    """N*(level) of one learner on one task at one d: the theory's, beside the measured one."""

    measured: Reached
    n_star: float
    """inf where the theory's curve never gets there."""
    exponent: float
    """Of the theory's N* over all d of the task and label; nan for fewer than two."""
    source: str

    def as_dict(self) -> dict[str, Any]:
        """A flat record; ``ratio`` is measured over theory, nan where a replicate is censored."""
        found = self.measured.as_dict()
        kept = {name: found[name] for name in ("task", "d", "label", "level")}
        measured = {"measured": found["n_star"], "lo": found["lo"], "hi": found["hi"]}
        theory = {"n_star": self.n_star, "exponent": self.exponent, "source": self.source}
        return kept | theory | measured | {"ratio": found["n_star"] / self.n_star}


def expected(reached: Sequence[Reached], theories: Theories) -> list[Expected]:
    """The theory's N* beside each measured one of which there is a theory."""
    dims: dict[tuple[str, str], list[int]] = {}
    for found in reached:
        known = dims.setdefault((found.task, found.label), [])
        known += [found.d] * (found.d not in known)
    return [
        Expected(
            found,
            expected_n_star(theory, found.level),
            expected_exponent(theories, found.task, found.label, found.level, dims[found.task, found.label]),
            theory.source,
        )
        for found in reached
        if (theory := theories.get((found.task, found.d, found.label)))
    ]
