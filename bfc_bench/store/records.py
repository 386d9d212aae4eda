"""Checks the records of a store's tables. They may come from another person's file, which is refused if one is wrong.

Names become names of files and folders, so they have the form of names.
"""

import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, TypeAlias

from pydantic import Json, TypeAdapter

from bfc_bench.store.database import Database
from bfc_bench.store.row import Count, Identity, Name, Time, parse, validated

Record: TypeAlias = tuple[Any, ...]
"""A record of a table, as SQLite gives it."""
TABLES = ("rows", "definitions", "sessions")
CELL, ROW, TRACEBACK = 0, 11, 12
"""Places of columns in a record of the table ``rows``."""
STARTED, FINISHED, PROVENANCE = 3, 4, 6
"""Places of columns in a record of the table ``sessions``."""


@cache
def _adapter(table: str) -> TypeAdapter[Any]:
    records: dict[str, Any] = {
        "definitions": tuple[Name, Count, Literal["task", "learner"], Name, Identity],
        "sessions": tuple[Identity, Name, Count, Time | None, Time | None, Json[dict[str, Any]], Json[dict[str, Any]]],
    }
    return TypeAdapter(records[table])


def records_of(database: Database, table: str, suite: tuple[str, int] | None = None) -> Iterator[Record]:
    """The records of a table, or those of one suite, in the order of commits. Raises ``StoreError`` for a wrong one."""
    chosen = "WHERE suite = ? AND version = ? " if suite else ""
    for rowid, *record in database.stream(f"SELECT rowid, * FROM {table} {chosen}ORDER BY rowid", suite or ()):
        try:
            if table == "rows":
                parse(record[ROW])
            else:
                validated(_adapter(table).validate_python, tuple(record))
        except ValueError as error:
            raise database.unreadable(f"record {rowid} of the table {table!r}", error) from None
        yield tuple(record)


def insert(db: sqlite3.Connection, table: str, record: Record) -> None:
    """Insert a record into a table, in the place of one with the same key."""
    db.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(record))})", record)
