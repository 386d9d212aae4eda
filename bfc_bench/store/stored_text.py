"""Parses rows from the JSON texts in the store: all columns, or those that SQLite extracts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from bfc_bench.store.row import checked_columns, known_columns, parse

_SUSPECT = re.compile(r"\\[bfru]|[^ -~]")
"""Matches JSON that may contain control characters or other invisible ones."""


def _clean(text: str) -> bool:
    """Whether a JSON text surely has no invisible characters. The first test is fast and true for most texts."""
    return (text.isascii() and "\\" not in text and "\x7f" not in text) or _SUSPECT.search(text) is None


def parse_row(text: object, cell: str) -> dict[str, Any]:
    """The columns of the stored row of a cell. Raises ``ValueError`` if no release could have written it."""
    values = parse(text)
    if values["cell"] != cell:
        raise ValueError("cell is not that of its JSON")
    return values if _clean(str(text)) else known_columns(values)


def columns_sql(names: Sequence[str]) -> str:
    """SQL that gives these columns of a stored row as a JSON list, or an empty text for an invalid row.

    A row whose reason is null is invalid. SQLite is asked, because in the list it looks like a missing reason.
    """
    paths = ", ".join(f"'$.{name}'" for name in names)
    is_row = "json_valid(row) AND json_type(row, '$.reason') IS NOT 'null'"
    return f"CASE WHEN {is_row} THEN json_extract(row, {paths}) ELSE '' END"


def parse_columns(text: str, names: Sequence[str], cell: str) -> dict[str, Any]:
    """The columns in a result of ``columns_sql`` by name, without missing ones. Raises ``ValueError``."""
    try:
        values = {name: value for name, value in zip(names, from_json(text), strict=True) if value is not None}
    except TypeError:
        raise ValueError("a row must be a JSON object") from None
    for column, _, key in (name.partition(".") for name in names if "." in name and name in values):
        values.setdefault(column, {})[key] = values.pop(f"{column}.{key}")
    values = checked_columns(values)
    if values["cell"] != cell:
        raise ValueError("cell is not that of its JSON")
    return values if _clean(text) else known_columns(values)
