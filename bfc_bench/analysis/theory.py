"""Sample sizes and exponents that theories predict, beside the measured ones."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from bfc_bench.analysis.thresholds import NStars
from bfc_bench.learner import Theory
from bfc_bench.utils.legendre import harmonics_dimension

LARGEST = 1e9
"""Largest N* that is searched for."""


class Theories(Protocol):
    """Theories of learners, by (task, d, label); a dict of them is one."""

    def get(self, key: tuple[str, int, str], /) -> Theory | None:
        """The theory, or None if there is none."""


def slope(sizes: Mapping[Any, float], dims: Sequence[Any]) -> float:
    """Least-squares slope of log N on log d over ``dims``, for N by d; nan for fewer than two or if an N is missing."""
    expected = [sizes.get(d, math.nan) for d in dims]
    if len(dims) < 2 or not all(0 < n < math.inf for n in expected):
        return math.nan
    return float(np.polyfit(np.log(dims), [math.log(n) for n in expected], 1)[0])  # these may be too large for NumPy


def harmonics_slope(dims: Sequence[int], p: int) -> float:
    """Least-squares slope of log B(d, p) on log d; nan for fewer than two dimensions.

    This is the exponent of a learner whose N* is proportional to B(d, p), the number of spherical harmonics of degree
    p, such as a rotation-invariant kernel (NR Theorem 3). As d grows, it tends to p from below.
    """
    return slope({d: harmonics_dimension(d, p) for d in dims}, dims)


def no_theory(theories: Theories, task: str, d: int, label: str) -> str:
    """A sentence that a learner offers no theory, with the reason if ``theories`` has one in ``why_none``."""
    why = getattr(theories, "why_none", {}).get((task, d, label))
    return f"{label} offers no theory for {task}, d = {d}" + (f": {why}" if why else "")


@lru_cache(maxsize=4096)
def expected_n_star(theory: Theory, level: float) -> float:
    """The smallest n at which the theory's curve reaches ``level``; inf beyond 10^9, nan if the curve has no value.

    The search goes up in steps of sqrt(2), so it can miss a narrower peak, such as that of a kernel of finite rank.
    """
    from scipy.optimize import brentq

    def above(log_n: float) -> float:
        return theory.nmse(math.exp(log_n)) - level

    before, log_n = 0.0, 0.0
    while (distance := above(log_n)) > 0:
        before, log_n = log_n, log_n + math.log(2) / 2
        if log_n > math.log(LARGEST):
            return math.inf
    if math.isnan(distance):
        return math.nan
    return 1.0 if log_n == 0 else math.exp(brentq(above, before, log_n, xtol=1e-9))


def expected_sizes(theories: Theories, task: str, label: str, level: float, dims: Sequence[int]) -> dict[int, float]:
    """The theory's N*(level) by d, for the dimensions that have a theory."""
    return {d: expected_n_star(theory, level) for d in dims if (theory := theories.get((task, d, label)))}


def expected_exponent(theories: Theories, task: str, label: str, level: float, dims: Sequence[int]) -> float:
    """Least-squares slope of the theory's log N*(level) on log d; nan if an N* is missing."""
    return slope(expected_sizes(theories, task, label, level, dims), dims)


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected and measured N*(level) of one learner on one task at one d."""

    measured: NStars
    n_star: float
    """The theory's N*; inf if its curve never reaches the level."""
    exponent: float
    """Exponent of the theory's N* over all d of the task and label; nan for fewer than two."""
    source: str
    """Where the theory comes from."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record; ``ratio`` is measured over expected N*, nan if the measured one is only a bound."""
        reached = self.measured.as_dict()
        shared = {name: reached[name] for name in ("task", "d", "label", "level")}
        measured = {"measured": reached["n_star"], "lo": reached["lo"], "hi": reached["hi"]}
        theory = {"n_star": self.n_star, "exponent": self.exponent, "source": self.source}
        return shared | theory | measured | {"ratio": reached["n_star"] / self.n_star}


def expected(reached: Sequence[NStars], theories: Theories) -> list[Expected]:
    """The theory's N* beside each measured one that has a theory."""
    dims: dict[tuple[str, str], dict[int, None]] = {}
    for one in reached:
        dims.setdefault((one.task, one.label), {})[one.d] = None
    return [
        Expected(
            one,
            expected_n_star(theory, one.level),
            expected_exponent(theories, one.task, one.label, one.level, [*dims[one.task, one.label]]),
            theory.source,
        )
        for one in reached
        if (theory := theories.get((one.task, one.d, one.label)))
    ]
