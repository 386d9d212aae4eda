"""That what is drawn depends on the generator that was handed in, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bfc_bench.seeds import stream
from bfc_bench.testing.exceptions import require
from bfc_bench.testing.global_state import changes, generators, preserved, snapshot


def rng(*purpose: object) -> np.random.Generator:
    """A stream of the kit."""
    return stream("check", *purpose)


def require_keyed(draw: Callable[[np.random.Generator], np.ndarray], what: str) -> None:
    """Break a law unless equal streams give equal numbers, whatever the global generators hold, which stay."""
    found: list[np.ndarray] = []
    for seed in (0, 1):
        with preserved(seed):
            before = snapshot(generators())
            found.append(np.asarray(draw(rng(what))))
            moved = changes(generators(), before)
        require(not moved, f"{what}: draws from the global generator {', '.join(moved)}; draw from the one handed in")
    first, second = found
    same = np.array_equal(first, second, equal_nan=True)
    require(same, f"{what}: two equal streams give different numbers; all randomness must come from the one handed in")


def require_numbers(values: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The values as an array; breaks a law unless it has the shape and is finite float64."""
    require(isinstance(values, np.ndarray), f"{what} must be a NumPy array. Got {type(values).__name__}")
    array = np.asarray(values)
    require(array.shape == shape, f"{what} must have shape {shape}. Got {array.shape}")
    require(array.dtype == np.float64, f"{what} must be float64. Got {array.dtype}")
    require(bool(np.isfinite(array).all()), f"{what} must be finite")
    return array
