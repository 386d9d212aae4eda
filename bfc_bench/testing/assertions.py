"""Assertions that the requirements of several kinds of objects share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bfc_bench.config import Settings
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
