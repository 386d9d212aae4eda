"""How many images a tile of a convolutional kernel matrix has."""

import math
from collections.abc import Sequence

ARRAYS = 16
"""Arrays of the covariances of a tile that are held at once."""
TILE_NUMBERS = 2**20
"""Covariances of a tile."""


def covariances(shape: Sequence[int], readout: str) -> int:
    """Pairs of points of two images that a kernel with such a readout follows."""
    points = shape[1] * shape[2]
    return points**2 if readout == "pool" else points


def tile_of(shape: Sequence[int], readout: str) -> int:
    """Images on a side of a tile."""
    return max(1, min(64, math.isqrt(TILE_NUMBERS // covariances(shape, readout))))
