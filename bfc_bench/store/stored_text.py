"""Parses rows from the JSON texts in the store: all columns, or those that SQLite extracts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from bfc_bench.store.row import ROW_BYTES, acceptable, known_columns, parse

_SUSPECT = re.compile(r"\\[bfru]|[^ -~]")
"""Matches JSON that may contain control characters or other invisible ones."""


def _clean(text: str) -> bool:
    """Whether a JSON text surely has no invisible characters. The first test is fast and true for most texts."""
    return (text.isascii() and "\\" not in text and "\x7f" not in text) or _SUSPECT.search(text) is None


def parse_row(text: object, cell: str) -> dict[str, Any] | None:
    """The columns of the stored row of a cell; None if this program could not have written it."""
    if not isinstance(text, str) or len(text) > ROW_BYTES:
        return None
    values = parse(text)
    if values is None or values["cell"] != cell:
        return None
    return values if _clean(text) else known_columns(values)


def columns_sql(names: Sequence[str]) -> str:
    """SQL that gives these columns of a stored row as a JSON list, or an empty text for an invalid row.

    A row whose reason is null is invalid. SQLite is asked, because in the list it looks like a missing reason.
    """
    paths = ", ".join(f"'$.{name}'" for name in names)
    is_row = "json_valid(row) AND json_type(row, '$.reason') IS NOT 'null'"
    return f"CASE WHEN {is_row} THEN json_extract(row, {paths}) ELSE '' END"


def parse_columns(text: str, names: Sequence[str], cell: str) -> dict[str, Any] | None:
    """The columns in a result of ``columns_sql``, without missing ones.

    Args:
        text: The result.
        names: Columns.
        cell: Identity of the cell.

    Returns:
        The values by name; None if this program could not have written the row.
    """
    try:
        values = {name: value for name, value in zip(names, from_json(text), strict=True) if value is not None}
    except (ValueError, TypeError):
        return None
    for column, _, key in (name.partition(".") for name in names if "." in name and name in values):
        values.setdefault(column, {})[key] = values.pop(f"{column}.{key}")
    if not acceptable(values, whole=False) or values["cell"] != cell:
        return None
    return values if _clean(text) else known_columns(values)
