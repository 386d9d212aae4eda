"""Sizes of the tiles in which a convolutional kernel matrix is computed."""

import math
from collections.abc import Sequence

ARRAYS = 16
"""Number of arrays of a tile's covariances in memory at once."""
TILE_NUMBERS = 2**20
"""Largest number of covariances of a tile."""


def covariances(shape: Sequence[int], readout: str) -> int:
    """Number of pixel pairs per pair of images whose covariance a kernel with this readout needs."""
    pixels = shape[1] * shape[2]
    return pixels**2 if readout == "pool" else pixels


def tile_of(shape: Sequence[int], readout: str) -> int:
    """Number of images along a side of a tile."""
    return max(1, min(64, math.isqrt(TILE_NUMBERS // covariances(shape, readout))))
