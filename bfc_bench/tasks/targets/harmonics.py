"""Harmonic polynomials on the sphere S^{d-1}."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from math import comb, sqrt

import numpy as np

from bfc_bench.tasks.base import Float

BLOCK = 256
"""Number of points whose products with all others are computed together."""


def part_name(degree: int) -> str:
    """The name of the part of a target with this degree in a row's ``part_errors``: ``degree2``."""
    return f"degree{degree}"


def part_degree(name: str) -> int | None:
    """The degree of a part with this name, or None for another part."""
    match = re.fullmatch(r"degree(\d+)", name)
    return int(match[1]) if match else None


def harmonics_dimension(d: int, p: int) -> int:
    """B(d, p), the dimension of the spherical harmonics of degree p in d >= 2 dimensions, exact.

    B(d, p) = C(d+p-1, p) - C(d+p-3, p-2).
    """
    return comb(d + p - 1, p) - (comb(d + p - 3, p - 2) if p >= 2 else 0)


def legendre_sequence(d: int, p: int, t: Float) -> Iterator[Float]:
    """The Legendre polynomials P_0, ..., P_p, see ``legendre``."""
    before, current = np.ones_like(t), np.array(t)
    yield before
    for q in range(1, p + 1):
        yield current
        before, current = current, ((2 * q + d - 2) * t * current - q * before) / (q + d - 2)


def legendre(d: int, p: int, t: Float) -> Float:
    """The Legendre polynomial P_p in d dimensions, with P_p(1) = 1.

    It is the Gegenbauer polynomial of index (d-2)/2 over its value at 1 (Chebyshev's for d = 2, Legendre's for d = 3),
    by the recurrence (q+d-2) P_{q+1} = (2q+d-2) t P_q - q P_{q-1}.
    """
    *_, last = legendre_sequence(d, p, t)
    return last


def zonal(d: int, p: int, t: Float) -> Float:
    """phi_p(t) = sqrt(B(d,p)) P_p(t), of mean square 1 at t = beta . x for x uniform on S^{d-1} and beta of norm 1."""
    return sqrt(harmonics_dimension(d, p)) * legendre(d, p, t)


def degree_errors(x: Float, residual: Float, p: int) -> Float:
    """Unbiased estimates of ||Pi_k e||^2, k = 1..p, (p,), Pi_k the projection onto the harmonics of degree k.

    With the reproducing kernel B(d,k) P_k(<x, z>) of degree k, ||Pi_k e||^2 = B(d,k) E[e(x) e(z) P_k(<x, z>)] over
    independent x and z: the mean over all pairs i != j.

    Args:
        x: Independent uniform points on the sphere, (m, d).
        residual: Values e(x_i), (m,).
        p: Highest degree.
    """
    m, d = x.shape
    sums = np.zeros(p)
    for rows in np.array_split(np.arange(m), max(1, m // BLOCK)):
        values = legendre_sequence(d, p, np.clip(x[rows] @ x.T, -1, 1))
        sums += [residual[rows] @ value @ residual for value in islice(values, 1, None)]
    dimensions = np.array([harmonics_dimension(d, k) for k in range(1, p + 1)], dtype=float)
    errors: Float = dimensions * (sums - residual @ residual) / (m * (m - 1))
    return errors
