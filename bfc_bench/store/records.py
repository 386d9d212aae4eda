"""Checks the records of a store's tables. They may come from another person's file, which is refused if one is wrong.

Names become names of files and folders, so they have the form of names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from operator import lt
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, Json, StringConstraints, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic accepts that of typing only from Python 3.12

from bfc_bench.store.database import Database
from bfc_bench.store.row import Count, Identity, Name, Size, Time, parse, validated

Record: TypeAlias = tuple[Any, ...]
"""A record of a table, as SQLite gives it."""
TABLES = ("rows", "definitions", "sessions", "looks")
CELL, ROW, TRACEBACK = 0, 11, 12
"""Places of columns in a record of the table ``rows``."""
STARTED, FINISHED, PROVENANCE = 3, 4, 6
"""Places of columns in a record of the table ``sessions``."""
VERDICT = 6
"""Place of a column in a record of the table ``looks``."""

_strictly = with_config(ConfigDict(strict=True, allow_inf_nan=False, extra="allow"))
_Digest = Annotated[str, StringConstraints(max_length=64)]
_Replicates = Annotated[int, Field(ge=2, le=2**53)]
_Verdict: TypeAlias = Literal["supported", "contradicted", "undecided"] | None


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


@_strictly
class _Schedule(TypedDict):
    schedule: Annotated[list[_Replicates], Field(min_length=1)]
    total: Annotated[float, Field(gt=0, lt=0.5)]
    made: list[_Replicates]


def _follows_schedule(look: dict[str, Any]) -> dict[str, Any]:
    schedule, made = look["looks"]["schedule"], look["looks"]["made"]
    if not all(map(lt, schedule, schedule[1:])) or made != schedule[: len(made)] or look["replicates"] not in schedule:
        raise ValueError("made and replicates must follow the schedule")
    return look


@_strictly
class _Look(TypedDict):
    claim: Name
    content: _Digest
    data: _Digest
    replicates: _Replicates
    reads: list[tuple[str, str, Size, list[Size]]]
    looks: _Schedule
    verdict: _Verdict
    allows_skewness: NotRequired[bool]


_OnSchedule = Annotated[_Look, AfterValidator(_follows_schedule)]


@cache
def _adapter(table: str) -> TypeAdapter[Any]:
    records: dict[str, Any] = {
        "definitions": tuple[Name, Count, Literal["task", "learner"], Name, Identity],
        "sessions": tuple[Identity, Name, Count, Time | None, Time | None, Json[_Definition], Json[_Provenance]],
        "looks": tuple[Name, Count, Name, _Digest, _Digest, _Replicates, _Verdict, Json[_OnSchedule]],
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
