"""Converts values to plain data, canonical JSON and TOML, and computes digests."""

import hashlib
import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from bfc_bench.utils.escape_control import visible

INTEGER_BITS = 1024
"""Size limit of integers. Python cannot print integers of more than about 14,000 bits."""
DEPTH = 32
"""Limit of nesting."""


def plain_json(value: Any, *, gaps: bool = False, depth: int = DEPTH) -> Any:
    """Convert a value to what JSON can represent.

    Arrays become lists, NumPy scalars numbers, sets sorted lists, and other objects texts. All texts are made visible.
    """
    if isinstance(value, str):
        return visible(value)
    if value is None or isinstance(value, (bool, int, float)):
        return _number(value, gaps)
    if depth == 0:
        raise ValueError(f"must not be nested more than {DEPTH} levels deep, nor contain itself")
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


def finite(record: Mapping[str, Any], *, infinite: bool = False) -> dict[str, Any]:
    """A flat record with null for numbers that are not finite; with ``infinite``, texts ``+inf`` and ``-inf``."""
    numbers = {name: value for name, value in record.items() if isinstance(value, float) and not math.isfinite(value)}
    texts = {name: None if math.isnan(value) or not infinite else f"{value:+}" for name, value in numbers.items()}
    return {**record, **texts}


def rank(plain_json: Any) -> tuple[float, str]:
    """Sort key for plain values of a set: numbers by size, then other values by their JSON."""
    return (plain_json, "") if isinstance(plain_json, int | float) else (math.inf, canonical_json(plain_json))


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and without spaces, so that equal values have equal texts."""
    return _CANONICAL.encode(value)


def readable_json(value: Any) -> bytes:
    """JSON with sorted keys that is indented, as a file for people and programs."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def toml_value(value: Any) -> str:
    """A plain value as TOML writes it: like JSON, apart from tables and one control character."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_value(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def digest(value: Any, size: int = 8) -> str:
    """A stable hash of a plain value: ``2 * size`` hexadecimal digits."""
    return digest_text(canonical_json(value), size)


def digest_text(text: str, size: int = 8) -> str:
    """The ``digest`` of the plain value that has this canonical JSON."""
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()
