"""Assertions that the requirements of several kinds of objects share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bfc_bench.config import Settings
from bfc_bench.seeds import stream
from bfc_bench.testing.global_state import changed, generators, preserved, snapshot
from bfc_bench.testing.requirement import require
from bfc_bench.utils.plain_json import canonical_json

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


def require_json(part: Settings, options_of: Callable[[Any], Mapping[str, Any]]) -> None:
    """Fail unless the options of ``part`` mean the same after they were stored as JSON."""
    options = options_of(part)
    again = options_of(type(part).parse(json.loads(canonical_json(options)), "options"))
    require(again == options, f"the options are {options} and, read back from JSON, {again}")


def require_keyed(draw: Callable[[np.random.Generator], np.ndarray], what: str) -> None:
    """Fail unless equal streams give equal numbers, independent of the global generators, which must not be used."""
    drawn: list[np.ndarray] = []
    for seed in (0, 1):
        with preserved(seed):
            before = snapshot(generators())
            drawn.append(np.asarray(draw(rng(what))))
            moved = changed(generators(), before)
        require(not moved, f"{what}: draws from the global generator {', '.join(moved)}; draw from the one passed in")
    same = np.array_equal(drawn[0], drawn[1], equal_nan=True)
    require(same, f"{what}: two equal streams give different numbers; all randomness must come from the one passed in")


def require_numbers(values: object, shape: tuple[int, ...], what: str) -> None:
    """Fail unless the values are a NumPy array of a shape, float64 and finite."""
    require(isinstance(values, np.ndarray), f"{what} must be a NumPy array. Got {type(values).__name__}")
    array = np.asarray(values)
    require(array.shape == shape, f"{what} must have shape {shape}. Got {array.shape}")
    require(array.dtype == np.float64, f"{what} must be float64. Got {array.dtype}")
    require(bool(np.isfinite(array).all()), f"{what} must be finite")
