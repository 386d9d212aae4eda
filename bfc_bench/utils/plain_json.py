"""Values as JSON: any value as plain data, one canonical text per value, and short digests of it."""

from __future__ import annotations

import hashlib
import json
import math
from functools import partial
from typing import Any

from bfc_bench.utils.escape_control import visible

INTEGER_BITS = 1024
"""The largest integer in ``info``; Python refuses to write those of more than some 14,000 bits."""
DEPTH = 32
"""How deep ``info`` may be nested."""


def plain_json(value: Any, *, gaps: bool = False, depth: int = DEPTH) -> Any:
    """Arrays and NumPy scalars as lists and numbers, sets in order, what JSON does not know as text; texts visible.

    With ``gaps`` numbers that are not finite are None. Raises ``ValueError`` for them without it, for integers beyond
    ``INTEGER_BITS`` and for what is nested too deep, or holds itself.
    """
    if isinstance(value, str):
        return visible(value)
    if value is None or isinstance(value, (bool, int, float)):
        return _number(value, gaps)
    if depth == 0:
        raise ValueError(f"must not be nested more than {DEPTH} deep, nor hold itself")
    inner = partial(plain_json, gaps=gaps, depth=depth - 1)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {visible(str(k)): inner(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(inner, value), key=rank)
    if isinstance(value, (list, tuple)):
        return list(map(inner, value))
    return inner(value.tolist()) if hasattr(value, "tolist") else visible(str(value))


def _number(value: bool | float | None, gaps: bool) -> bool | float | None:
    if isinstance(value, float):
        if not math.isfinite(value) and not gaps:
            raise ValueError(f"numbers must be finite. Got {value}")
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool):
        return value
    if value.bit_length() > INTEGER_BITS:
        raise ValueError(f"integers must have at most {INTEGER_BITS} bits. Got one of {value.bit_length()}")
    return int(value)


def rank(plain_json: Any) -> tuple[float, str]:
    """Puts plain values of a set in order: numbers by size, then everything else by its text."""
    return (plain_json, "") if isinstance(plain_json, int | float) else (math.inf, canonical_json(plain_json))


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """One text per value: keys sorted, no spaces. Two equal configurations have equal texts."""
    return _CANONICAL.encode(value)


def digest(value: Any, size: int = 8) -> str:
    """A short stable name of a plain value: ``2 * size`` hexadecimal digits."""
    return digest_text(canonical_json(value), size)


def digest_text(text: str, size: int = 8) -> str:
    """The name of the plain value that has this canonical JSON."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
