"""The tables of a store's file, and what takes a file of an earlier release to them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bfc_bench.errors import StoreError

SCHEMA = 3
_LOOKS = """
CREATE TABLE looks (
  suite TEXT, version INTEGER, claim TEXT, content TEXT, data TEXT, replicates INTEGER, verdict TEXT, record TEXT,
  PRIMARY KEY (suite, version, claim, data, replicates));
"""
_TABLES = f"""
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
{_LOOKS}"""
_UPGRADES = {
    1: """
ALTER TABLE rows ADD COLUMN "release" TEXT;
ALTER TABLE rows ADD COLUMN device TEXT;
ALTER TABLE rows ADD COLUMN learner_version INTEGER;
UPDATE rows SET device = json_extract(row, '$.device');
""",
    2: _LOOKS,
}
"""What takes a file from a schema to the next one."""


def schema_of(db: sqlite3.Connection, path: Path) -> int:
    """The schema of an open file. Raises ``StoreError`` for one that is newer, or no store of this program."""
    found = int(db.execute("PRAGMA user_version").fetchone()[0])
    if found > SCHEMA:
        raise StoreError(
            f"{path} was written with schema {found}; this bfc-bench knows schemas up to {SCHEMA}. "
            "Upgrade bfc-bench or use another --store."
        )
    held = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not found or not held >= {"rows", "definitions", "sessions"}:
        raise StoreError(f"{path} is not a file that bfc-bench made. Move it away or use another --store.")
    return found


def lay_out(db: sqlite3.Connection) -> None:
    """Make the tables in an empty file."""
    db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")


def upgrade(db: sqlite3.Connection, found: int) -> None:
    """Take a file from the schema ``found`` to this one, as a whole or not at all."""
    if found < SCHEMA:
        steps = " ".join(_UPGRADES[schema] for schema in range(found, SCHEMA))
        db.executescript(f"BEGIN; {steps} PRAGMA user_version = {SCHEMA}; COMMIT;")
