"""An ensemble of 32 small networks against the eager loop."""

from collections.abc import Iterator

from benchmarks.measurement import Measurement
from benchmarks.networks import SMALL
from benchmarks.training import against_eager, against_ensembles


def measure(quick: bool) -> Iterator[Measurement]:
    """S, E=32."""
    yield against_eager(SMALL, 32, steps=200 if quick else 600, pairs=2 if quick else 5, goal=15)
    yield from against_ensembles(SMALL, 32, steps=200 if quick else 600, pairs=2 if quick else 5)
