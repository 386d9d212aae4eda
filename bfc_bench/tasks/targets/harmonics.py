"""Parts of a target by degree, and the errors of a prediction in them, on the sphere S^{d-1}."""

import re
from itertools import islice

import numpy as np

from bfc_bench.tasks.base import Float
from bfc_bench.utils.legendre import harmonics_dimension, legendre_sequence

BLOCK = 256
"""Number of points whose products with all others are computed together."""


def part_name(degree: int) -> str:
    """The name of the part of a target with this degree in a row's ``part_errors``: ``degree2``."""
    return f"degree{degree}"


def part_degree(name: str) -> int | None:
    """The degree of a part with this name, or None for another part."""
    match = re.fullmatch(r"degree(\d+)", name)
    return int(match[1]) if match else None


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
    return np.asarray(dimensions * (sums - residual @ residual) / (m * (m - 1)))
