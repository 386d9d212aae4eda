"""Checks the records of a store's tables. They may come from another person's file, which is refused if one is wrong.

Names become names of files and folders, so they have the form of names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field, Json, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic accepts that of typing only from Python 3.12

from bfc_bench.store.database import Database
from bfc_bench.store.row import Count, Identity, Name, Time, parse, validated

Record: TypeAlias = tuple[Any, ...]
"""A record of a table, as SQLite gives it."""
TABLES = ("rows", "definitions", "sessions")
CELL, ROW, TRACEBACK = 0, 11, 12
"""Places of columns in a record of the table ``rows``."""
STARTED, FINISHED, PROVENANCE = 3, 4, 6
"""Places of columns in a record of the table ``sessions``."""

_strictly = with_config(ConfigDict(strict=True, allow_inf_nan=False, extra="allow"))


@_strictly
class _Provenance(TypedDict, total=False):
    """The parts of a run's provenance that readers use."""

    command: str | None
    git: str | None
    host: str | None
    platform: str | None
    processor: str | None
    python: str | None
    packages: dict[str, Any]
    executor_options: dict[str, Any]
    precision: dict[str, Any]


@_strictly
class _Definition(TypedDict, total=False):
    """The parts of a run's definition that readers use without parsing it as a suite."""

    levels: list[Annotated[float, Field(gt=0)]]
    task: list[dict[str, Any]]
    learner: list[dict[str, Any]]
    looks: list[int]


@cache
def _adapter(table: str) -> TypeAdapter[Any]:
    records: dict[str, Any] = {
        "definitions": tuple[Name, Count, Literal["task", "learner"], Name, Identity],
        "sessions": tuple[Identity, Name, Count, Time | None, Time | None, Json[_Definition], Json[_Provenance]],
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
