"""Finds degrees of spherical harmonics that no function of a learner contains, whatever n is (parity traps)."""

from collections.abc import Callable

import numpy as np

from bfc_bench.learner import TaskFacts

NODES = 32
"""Number of angles at which the profile of a kernel is evaluated; degrees up to half of it are told apart."""
HIGHEST_DEGREE = NODES // 2
"""The highest degree that ``missing_degrees`` looks at."""
VANISHES = 1e-12
"""Size, relative to the kernel, below which a coefficient is rounding."""
STANDS_OUT = 1e-6
"""Size of the last coefficient that shows an end of the series, and not a decay into rounding."""


def parity_caution(who: str, has_degree: Callable[[int], bool], task: TaskFacts, remedy: str) -> str | None:
    """A sentence for ``Learner.caution`` if the learner lacks a degree of the target, else None.

    Args:
        who: The learner with the options that matter.
        has_degree: Whether the learner has functions of a degree.
        task: The task.
        remedy: What to change, as an imperative clause.
    """
    missing = [str(degree) for degree in task.degrees if not has_degree(degree)]
    if not missing:
        return None
    return (
        f"parity trap: {who} has no part of degree {' or '.join(missing)}, which the target {task.target} has, so no "
        f"number of samples makes it learn that part; {remedy}."
    )


def missing_degrees(profile: Callable[[np.ndarray], np.ndarray]) -> frozenset[int]:
    """Degrees 1 to ``HIGHEST_DEGREE`` whose eigenvalue on the sphere is 0, for the kernel k(x, z) = profile(<x, z>).

    ``profile`` maps cosines (m,) to values (m,). The eigenvalue of degree k is a positive multiple of the integral of
    profile times the Gegenbauer polynomial of degree k. A positive definite profile is a power series with coefficients
    a_j >= 0 (Schoenberg 1942), and t^j has a part of degree k exactly if j >= k and j - k is even. So the eigenvalue is
    0, in every dimension, if a_k = a_{k+2} = ... = 0, which is read from Chebyshev coefficients. The coefficients of a
    smooth profile, such as an RBF kernel's, fall below rounding without being 0: such degrees are not missing.
    """
    angles = np.pi * (np.arange(NODES) + 0.5) / NODES
    values = profile(np.cos(angles))
    sizes = np.abs(np.cos(np.outer(np.arange(NODES), angles)) @ values) * 2 / NODES / np.max(np.abs(values))
    missing = set()
    for parity in (0, 1):
        (present,) = np.nonzero(sizes[parity::2] > VANISHES)
        last = parity + 2 * int(present[-1]) if len(present) else parity - 2
        if last < 0 or sizes[last] > STANDS_OUT:
            missing |= set(range(last + 2, HIGHEST_DEGREE + 1, 2))
    return frozenset(missing - {0})
