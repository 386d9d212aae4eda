"""Legendre polynomials in d dimensions, and the number of spherical harmonics of each degree."""

from collections.abc import Iterator
from math import comb, sqrt

import numpy as np


def harmonics_dimension(d: int, p: int) -> int:
    """B(d, p), the dimension of the spherical harmonics of degree p in d >= 2 dimensions, exact.

    B(d, p) = C(d+p-1, p) - C(d+p-3, p-2).
    """
    return comb(d + p - 1, p) - (comb(d + p - 3, p - 2) if p >= 2 else 0)


def legendre_sequence(d: int, p: int, t: np.ndarray) -> Iterator[np.ndarray]:
    """The Legendre polynomials P_0, ..., P_p, see ``legendre``."""
    before, current = np.ones_like(t), np.array(t)
    yield before
    for q in range(1, p + 1):
        yield current
        before, current = current, ((2 * q + d - 2) * t * current - q * before) / (q + d - 2)


def legendre(d: int, p: int, t: np.ndarray) -> np.ndarray:
    """The Legendre polynomial P_p in d dimensions, with P_p(1) = 1.

    It is the Gegenbauer polynomial of index (d-2)/2 over its value at 1 (Chebyshev's for d = 2, Legendre's for d = 3),
    by the recurrence (q+d-2) P_{q+1} = (2q+d-2) t P_q - q P_{q-1}.
    """
    *_, last = legendre_sequence(d, p, t)
    return last


def zonal(d: int, p: int, t: np.ndarray) -> np.ndarray:
    """phi_p(t) = sqrt(B(d,p)) P_p(t), of mean square 1 at t = beta . x for x uniform on S^{d-1} and beta of norm 1."""
    return sqrt(harmonics_dimension(d, p)) * legendre(d, p, t)
