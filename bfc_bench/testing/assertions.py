"""Assertions that the requirements of several kinds of objects share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bfc_bench.config import Settings
from bfc_bench.testing.examples import rng
from bfc_bench.testing.global_state import preserved
from bfc_bench.testing.requirement import require
from bfc_bench.utils.plain_json import canonical_json

WORDS = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"


def require_described(cls: type, *, variants: bool = False) -> None:
    """Fail unless the class has a docstring of its own and a name; with ``variants`` it may also be scheme:path."""
    name = getattr(cls, "name", None)
    matches = isinstance(name, str) and re.fullmatch(WORDS + r"(:\S+)?" * variants, name) is not None
    expected = "lower-case words joined by hyphens" + ", or scheme:path" * variants
    require(matches, f"name must be {expected}. Got {name!r}")
    require(bool((vars(cls).get("__doc__") or "").strip()), "the class has no docstring of its own")


def require_json(part: Settings, options_of: Callable[[Any], Mapping[str, Any]]) -> None:
    """Fail unless the options of ``part`` mean the same after they were stored as JSON."""
    options = options_of(part)
    again = options_of(type(part).parse(json.loads(canonical_json(options)), "options"))
    require(again == options, f"the options are {options} and, read back from JSON, {again}")


def require_keyed(draw: Callable[[np.random.Generator], np.ndarray], what: str) -> None:
    """Fail unless equal streams give equal numbers, independent of the global generators, which must not be used."""
    with preserved() as moved:
        first, second = (np.asarray(draw(rng(what))) for _ in range(2))
    require(not moved, f"{what}: draws from the global generator {', '.join(moved)}; draw from the one passed in")
    same = np.array_equal(first, second, equal_nan=True)
    require(same, f"{what}: two equal streams give different numbers; all randomness must come from the one passed in")


def require_numbers(values: object, shape: tuple[int, ...], what: str) -> None:
    """Fail unless the values are a NumPy array of a shape, float64 and finite."""
    require(isinstance(values, np.ndarray), f"{what} must be a NumPy array. Got {type(values).__name__}")
    array = np.asarray(values)
    require(array.shape == shape, f"{what} must have shape {shape}. Got {array.shape}")
    require(array.dtype == np.float64, f"{what} must be float64. Got {array.dtype}")
    require(bool(np.isfinite(array).all()), f"{what} must be finite")
