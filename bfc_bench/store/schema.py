"""The tables of a store's SQLite file. Older files also have a table of looks, which is not read."""

import sqlite3
from pathlib import Path

from bfc_bench.errors import StoreError

SCHEMA = 2
_TABLES = """
CREATE TABLE rows (
  cell TEXT PRIMARY KEY, suite TEXT, version INTEGER, task TEXT, label TEXT, d INTEGER, n INTEGER, replicate INTEGER,
  status TEXT, task_digest TEXT, learner_digest TEXT, row TEXT, traceback TEXT,
  "release" TEXT, device TEXT, learner_version INTEGER);
CREATE INDEX rows_by_suite ON rows (suite, version);
CREATE TABLE definitions (
  suite TEXT, version INTEGER, kind TEXT, name TEXT, digest TEXT, PRIMARY KEY (suite, version, kind, name));
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, suite TEXT, version INTEGER, started_at REAL, finished_at REAL,
  definition TEXT, provenance TEXT);
"""


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Raise ``StoreError`` if a file has another schema or was made by another program."""
    schema = int(db.execute("PRAGMA user_version").fetchone()[0])
    if not schema or not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'definitions'").fetchone()[0]:
        raise StoreError(f"{path} is not a file that bfc-bench made. Move it away, or use another --store.")
    if schema != SCHEMA:
        raise StoreError(
            f"{path} was written with schema {schema}; this bfc-bench knows schema {SCHEMA}. "
            "Use the release of bfc-bench that wrote it, or another --store."
        )


def create_tables(db: sqlite3.Connection) -> None:
    """Make the tables in an empty file."""
    db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")
