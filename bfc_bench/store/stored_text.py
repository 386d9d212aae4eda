"""Rows as a store keeps them, a JSON text each: all that one says, or some of its columns that SQLite takes out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from bfc_bench.store.row import is_known, present

_SUSPECT = re.compile(r"\\[bfru]|[^ -~]")
"""In JSON, what may stand for something unseen."""


def _clean(text: str) -> bool:
    """Whether nothing in a JSON text can stand for something unseen; most texts say so at once."""
    return (text.isascii() and "\\" not in text and "\x7f" not in text) or _SUSPECT.search(text) is None


def values_of(text: str) -> dict[str, Any] | None:
    """What a stored row says, by column; None where it is no row that this release knows."""
    try:
        values = from_json(text, cache_strings="keys")
    except ValueError:
        return None
    return present(values, clean=_clean(text)) if is_known(values) else None


def members(names: Sequence[str]) -> str:
    """SQL for these columns of a row as a JSON list; for an empty text where it is no row, as a reason that is null
    says, which in the list could as well be missing.
    """
    places = ", ".join(f"'$.{name}'" for name in names)
    is_row = "json_valid(row) AND json_type(row, '$.reason') IS NOT 'null'"
    return f"CASE WHEN {is_row} THEN json_extract(row, {places}) ELSE '' END"


def some_of(text: str, names: Sequence[str]) -> dict[str, Any] | None:
    """The same of what ``members`` gave, without what the row lacks."""
    try:
        values = {name: value for name, value in zip(names, from_json(text), strict=True) if value is not None}
    except ValueError:
        return None
    for column, _, key in (name.partition(".") for name in names if "." in name and name in values):
        values.setdefault(column, {})[key] = values.pop(f"{column}.{key}")
    if not is_known(values):
        return None
    return values if _clean(text) else present(values)
