"""The tables of a store's SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from bfc_bench.errors import StoreError
from bfc_bench.store.gate import objects

SCHEMA = 1
_TABLES = """
CREATE TABLE rows (
  cell TEXT PRIMARY KEY, suite TEXT, version INTEGER, task TEXT, label TEXT, d INTEGER, n INTEGER, replicate INTEGER,
  status TEXT, task_digest TEXT, learner_digest TEXT, row TEXT, traceback TEXT,
  "release" TEXT, device TEXT, learner_version INTEGER, row_digest BLOB);
CREATE INDEX rows_by_suite ON rows (suite, version);
CREATE TABLE definitions (
  suite TEXT, version INTEGER, kind TEXT, name TEXT, digest TEXT, PRIMARY KEY (suite, version, kind, name));
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, suite TEXT, version INTEGER, started_at REAL, finished_at REAL,
  definition TEXT, provenance TEXT);
CREATE TABLE looks (
  suite TEXT, version INTEGER, claim TEXT, content TEXT, data TEXT, replicates INTEGER, verdict TEXT, record TEXT,
  PRIMARY KEY (suite, version, claim, data, replicates));
"""
_NAMES = {"rows", "definitions", "sessions", "looks"}


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Raise ``StoreError`` if a file has another schema or was made by another program."""
    schema = int(db.execute("PRAGMA user_version").fetchone()[0])
    made = objects(db)
    if not schema or not {name for kind, name in made if kind == "table"} & _NAMES:
        raise StoreError(f"{path} is not a file that bfc-bench made. Move it away, or use another --store.")
    if schema != SCHEMA:
        raise StoreError(
            f"{path} was written with schema {schema}; this bfc-bench knows schema {SCHEMA}. "
            "Use the release of bfc-bench that wrote it, or another --store."
        )
    if odd := sorted({" ".join(key) for key, _ in made.items() ^ _own_objects().items()}):
        raise StoreError(f"{path} has other tables than bfc-bench makes: {', '.join(map(repr, odd))}. It is not read.")


@cache
def _own_objects() -> dict[tuple[str, str], str]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(_TABLES)
        return objects(db)


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables in an empty file."""
    db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")
