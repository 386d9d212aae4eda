"""Assertions that the requirements of several kinds of objects share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bfc_bench.seeds import stream
from bfc_bench.tasks.base import Drawn, Family
from bfc_bench.testing.global_state import changes, generators, preserved, snapshot
from bfc_bench.testing.requirement import require, skip
from bfc_bench.toolkit.arrays import to_numpy

CLOSE = 1e-9
"""Largest difference between the values of a point alone and among others, relative to the largest value."""
WORDS = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"


def rng(*purpose: object) -> np.random.Generator:
    """A random stream of the kit."""
    return stream("check", *purpose)


def require_name(cls: type, *, variants: bool = False) -> None:
    """Fail unless ``cls.name`` is in lower case with hyphens; with ``variants`` it may also be scheme:path."""
    name = getattr(cls, "name", None)
    matches = isinstance(name, str) and re.fullmatch(WORDS + r"(:\S+)?" * variants, name) is not None
    expected = "lower-case words joined by hyphens" + ", or scheme:path" * variants
    require(matches, f"name must be {expected}. Got {name!r}")


def require_docstring(cls: type) -> None:
    """Fail unless the class has a docstring of its own."""
    require(bool((vars(cls).get("__doc__") or "").strip()), "the class has no docstring of its own")


def require_keyed(draw: Callable[[np.random.Generator], np.ndarray], what: str) -> None:
    """Fail unless equal streams give equal numbers, independent of the global generators, which must not be used."""
    drawn: list[np.ndarray] = []
    for seed in (0, 1):
        with preserved(seed):
            before = snapshot(generators())
            drawn.append(np.asarray(draw(rng(what))))
            moved = changes(generators(), before)
        require(not moved, f"{what}: draws from the global generator {', '.join(moved)}; draw from the one passed in")
    first, second = drawn
    same = np.array_equal(first, second, equal_nan=True)
    require(same, f"{what}: two equal streams give different numbers; all randomness must come from the one passed in")


def require_numbers(values: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    """The values as an array; fails unless they are finite float64 of a shape.

    Args:
        values: The values to test.
        shape: The shape that they must have.
        what: What they are, for the message.
    """
    require(isinstance(values, np.ndarray), f"{what} must be a NumPy array. Got {type(values).__name__}")
    array = np.asarray(values)
    require(array.shape == shape, f"{what} must have shape {shape}. Got {array.shape}")
    require(array.dtype == np.float64, f"{what} must be float64. Got {array.dtype}")
    require(bool(np.isfinite(array).all()), f"{what} must be finite")
    return array


def require_row_shape(shape: object, d: int) -> None:
    """Fail unless ``row_shape(d)`` is empty, or positive integers of product d: (length, alphabet) or an image's."""
    sizes = shape if isinstance(shape, tuple) else None
    right = sizes is not None and all(isinstance(size, int) and size > 0 for size in sizes)
    require(
        right and (shape == () or (len(sizes or ()) in (2, 3) and math.prod(sizes or ()) == d)),
        f"row_shape({d}) must be (), (length, alphabet) or (channels, height, width), of product {d}. Got {shape!r}",
    )


def require_classes(values: np.ndarray, classes: int, what: str) -> None:
    """Fail unless values (m,) are among 0 ... C - 1; any are allowed if C is 0.

    Args:
        values: The values.
        classes: C.
        what: What they are, for the message.
    """
    require(classes != 1, "classes must be 2 or more, or their names. Got 1")
    wrong = sorted(set(values.tolist()) - set(map(float, range(classes))))[:3] if classes else []
    require(not wrong, f"{what} must be the numbers 0 ... {classes - 1} of its classes. Got {wrong}")


def require_swept(family: Family) -> None:
    """Fail unless ``swept`` names options of the class; skip if it names none."""
    unknown = sorted(family.swept - set(type(family).model_fields))
    require(not unknown, f"swept names {', '.join(unknown)}, which is no option")
    if not family.swept:
        skip("swept names no option")


def require_part_errors(drawn: Drawn, x: np.ndarray, values: np.ndarray) -> None:
    """Fail unless the errors in parts of a target's own values are 0; skip if it has no parts.

    Args:
        drawn: A teacher or a point source of real values.
        x: Points (m, d).
        values: G*(x), (m,).
    """
    errors = drawn.part_errors(x, values)
    if not errors:
        skip("part_errors() is not given")
    for part, error in errors.items():
        require(bool(abs(error) <= CLOSE), f"the error of G* itself in {part!r} must be 0. Got {error!r}")


def require_alone(value_of: Callable[[np.ndarray], np.ndarray], x: np.ndarray, what: str) -> None:
    """Fail unless the value of a point is the same alone, among others, and when it is computed again.

    Args:
        value_of: The function from points (m, d) to values (m,).
        x: Points (m, d), m >= 10.
        what: What computes the values, for the message.
    """
    together = value_of(x.copy())
    require(np.array_equal(together, value_of(x.copy())), f"a second call of {what} gives other values")
    alone = np.concatenate([value_of(x[k : k + 1].copy()) for k in range(10)])
    error = np.max(np.abs(alone - together[:10])) / max(np.max(np.abs(together)), 1e-300)
    require(bool(error <= CLOSE), f"a point alone has another value than among others: relative difference {error:.1e}")


def require_layers(hidden: Mapping[str, Any], m: int) -> None:
    """Fail unless hidden features are {"S2": (m, width), ...}, finite."""
    for layer, values in hidden.items():
        require(re.fullmatch(r"S\d+", str(layer)) is not None, f"layers must be called S2, S3, ... Got {layer!r}")
        shape = tuple(values.shape)
        require(len(shape) == 2 and shape[0] == m, f"{layer} must be ({m}, width). Got {shape}")
        require(bool(np.isfinite(to_numpy(values)).all()), f"{layer} is not finite")
