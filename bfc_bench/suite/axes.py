"""Axes of a suite: options that take several values, and the names of the entries that a grid stands for."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from numbers import Real
from typing import Any

from bfc_bench.config import plain_option
from bfc_bench.utils.plain_json import canonical_json, digest

MOST_MEMBERS = 1000
"""The largest number of entries that a grid may stand for, and of tasks, learners and values of d and n."""
MOST_CANDIDATES = 10_000
"""The largest number of combinations that a learner may be tuned over."""
LONGEST_VALUE = 24
"""Longer values are named by a digest."""
OWN_KEYS = {
    "d": "write d = [...] in the task",
    "n": "write n = [...] in the task, or n = { from = ..., to = ..., steps = ... }",
    "replicate": "write replicates = ... in the suite",
}
"""Numbers of every cell, which are no axes of a grid, and what to write instead."""


def value_key(value: Any) -> str:
    """A value as a key of a table: numbers as they are written, text unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else canonical_json(value)


def value_text(value: Any) -> str:
    """A value as a part of a name: ``2``, ``0.35``, ``-relu``, ``-true``, ``4+2`` for a list."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value_key(value)
    if isinstance(value, list | tuple) and value and not any(isinstance(item, list | tuple | dict) for item in value):
        text = "+".join(value_text(item)[isinstance(item, str) :] for item in value)
    else:
        plain = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
        text = "-" + re.sub(r"[^A-Za-z0-9._+-]+", "_", plain).strip("_")
    return text if 1 < len(text) <= LONGEST_VALUE or text.isalnum() else f"@{digest(plain_option(value), 4)}"


def axis_part(axis: str, value: Any) -> str:
    """The part of a member's name that stands for its value on an axis, such as ``m2``."""
    return f"{axis}{value_text(value)}"


def member_name(grid: str, axes: Mapping[str, Any]) -> str:
    """The name of the member of a grid with these values, such as ``rhm:m2:L3``."""
    return ":".join([grid, *(axis_part(axis, value) for axis, value in axes.items())])


def family(name: str, axis: str, value: Any) -> str:
    """The name of a member without its part for one axis: ``rhm:L3`` for ``rhm:m2:L3`` and the axis m."""
    head, separator, tail = f"{name}:".rpartition(f":{axis_part(axis, value)}:")  # the name of a grid may hold ":" too
    return f"{head}:{tail}"[:-1] if separator else name


def is_numeric(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def combinations(
    who: str, grid: Mapping[str, Any], defaults: Iterable[str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The axes and the values by key of each combination of a grid.

    The last part of a key names the axis, except that a key that begins with one of ``defaults`` names it whole: such a
    key means the same option without this part, and is written only to tell two axes apart.
    """
    lists = _flat(who, grid)
    if not lists:
        raise ValueError(f"{who}: grid must have at least 1 key with a list of values. Got none")
    names: dict[str, str] = {}
    for key, values in lists.items():
        first, *inner = key.split(".")
        axis = key if first in defaults else (inner or [first])[-1]
        if axis in OWN_KEYS:
            raise ValueError(f"{who}: grid.{key}: {axis} is no axis of a grid; {OWN_KEYS[axis]}")
        if axis in names.values():
            raise ValueError(f"{who}: grid.{key}: two keys of the grid name one axis, {axis!r}; leave out one")
        names[key] = axis
        if not isinstance(values, list) or not values:
            raise ValueError(f"{who}: grid.{key} must be a list of at least 1 value. Got {values!r}")
        if len({value_text(value) for value in values}) < len(values):
            raise ValueError(f"{who}: grid.{key} must hold different values. Got {values}")
    if (count := math.prod(map(len, lists.values()))) > MOST_MEMBERS:
        raise ValueError(f"{who}: the grid has {count:,} combinations; at most {MOST_MEMBERS:,} are possible")
    for chosen in product(*lists.values()):
        by_key = dict(zip(lists, chosen, strict=True))
        yield {names[key]: value for key, value in by_key.items()}, by_key


def _flat(who: str, table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        inner = _flat(who, value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
        if repeated := flat.keys() & inner.keys():
            raise ValueError(f"{who}: grid.{min(repeated)} is written twice, as one key and as a table; keep one")
        flat |= inner
    return flat
