"""An ensemble of 32 networks of medium size against the eager loop."""

from collections.abc import Iterator

from benchmarks.measurement import Measurement
from benchmarks.networks import MEDIUM
from benchmarks.training import against_eager, against_ensembles


def measure(quick: bool) -> Iterator[Measurement]:
    """M, E=32."""
    yield against_eager(MEDIUM, 32, steps=10 if quick else 60, pairs=2 if quick else 5, goal=2)
    yield from against_ensembles(MEDIUM, 32, steps=10 if quick else 60, pairs=2 if quick else 5)
