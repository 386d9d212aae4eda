"""A single model of each size against the eager loop; it must never be slower."""

from collections.abc import Iterator

from benchmarks.measurement import Measurement
from benchmarks.networks import LARGE, MEDIUM, SMALL, TINY
from benchmarks.training import against_eager


def measure(quick: bool) -> Iterator[Measurement]:
    """XS, S, M and L, E=1."""
    for size, steps in ((TINY, 1500), (SMALL, 1000), (MEDIUM, 200), (LARGE, 40)):
        yield against_eager(size, 1, steps=steps // 10 if quick else steps, pairs=2 if quick else 5, goal=1)
