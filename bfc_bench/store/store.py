"""The local store: one SQLite file per directory, one writer, a row committed as soon as its cell ends."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bfc_bench.config import canonical_json, digest_text
from bfc_bench.errors import StoreError
from bfc_bench.store.row import Origin, Row

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
_UPGRADES = {
    1: """
ALTER TABLE rows ADD COLUMN "release" TEXT;
ALTER TABLE rows ADD COLUMN device TEXT;
ALTER TABLE rows ADD COLUMN learner_version INTEGER;
UPDATE rows SET device = json_extract(row, '$.device');
"""
}
"""What takes a file from a schema to the next one."""

_CURRENT = (
    " AND EXISTS (SELECT 1 FROM definitions t WHERE t.suite = r.suite AND t.version = r.version"
    " AND t.kind = 'task' AND t.name = r.task AND t.digest = r.task_digest)"
    " AND EXISTS (SELECT 1 FROM definitions l WHERE l.suite = r.suite AND l.version = r.version"
    " AND l.kind = 'learner' AND l.name = r.label AND l.digest = r.learner_digest)"
)
_ORDER = " ORDER BY task, label, d, n, replicate, rowid"
"""Of two rows of one point the one that was committed later comes last, whatever the clock said."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the store knows of a cell without reading its row."""

    status: str
    origin: Origin


class Store:
    """Results of any number of suites in one directory.

    Rows are kept for good. What ``rows`` shows of a suite is its current view: the rows made under the task and learner
    definitions of the last run, so that one label always stands for one set of options.
    """

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        """Open, and with ``write`` create if need be. Raises ``StoreError`` when that is not possible."""
        self.directory = Path(directory)
        self.path = self.directory / "results.sqlite"
        self._db = self._open(write)

    def _open(self, write: bool) -> sqlite3.Connection:
        try:
            if write:
                self.directory.mkdir(parents=True, exist_ok=True)
            elif not self.path.exists():
                raise StoreError(
                    f"There is no store in {self.directory}; `bfc-bench run SUITE --store {self.directory}` makes one."
                )
            db = self._connect("rwc") if write else self._connect_to_read()
            found = db.execute("PRAGMA user_version").fetchone()[0]
            if found > SCHEMA:
                raise StoreError(
                    f"{self.path} was written with schema {found}; this bfc-bench knows schemas up to {SCHEMA}. "
                    "Upgrade bfc-bench or use another --store."
                )
            if write and found < SCHEMA:
                db.execute("PRAGMA journal_mode = WAL")
                steps = [_UPGRADES[schema] for schema in range(found, SCHEMA)] if found else [_TABLES]
                db.executescript(f"BEGIN; {' '.join(steps)} PRAGMA user_version = {SCHEMA}; COMMIT;")
            self._notes_origins = write or found >= 2
            return db
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The store in {self.directory} cannot be {'written' if write else 'read'}: {error}."
            ) from None

    def _connect(self, mode: str, extra: str = "") -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}{extra}"
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
        db.execute("PRAGMA synchronous = NORMAL")
        return db

    def _connect_to_read(self) -> sqlite3.Connection:
        try:
            db = self._connect("ro")
            db.execute("SELECT count(*) FROM sqlite_master")
            return db
        except sqlite3.OperationalError:  # a read-only directory has no room for the shared-memory file of the log
            return self._connect("ro", "&immutable=1")

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise StoreError(
                f"The store in {self.directory} cannot be written: {error}. What is in it stays readable; "
                "free space or choose another --store, then run the same command again."
            ) from None

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the store for writing. Raises ``StoreError`` at once when another process holds it."""
        try:
            file = (self.directory / "lock").open("a+")
        except OSError as error:
            raise StoreError(f"The store in {self.directory} cannot be written: {error.strerror}.") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.seek(0)
                holder = file.read().strip() or "unknown"
                raise StoreError(
                    f"The store in {self.directory} is in use by another bfc-bench (process {holder}). "
                    "Wait until it has ended, or use another --store."
                ) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def close(self) -> None:
        """Close the file; the write-ahead log is merged into it."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin_session(self, id: str, suite: str, version: int, definition: Any, provenance: Mapping[str, Any]) -> None:
        """Record a run: its suite as resolved, and versions, command line and machine."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, NULL, ?, ?)",
                (id, suite, version, time.time(), canonical_json(definition), canonical_json(dict(provenance))),
            )

    def amend_session(self, id: str, provenance: Mapping[str, Any]) -> None:
        """Replace what is recorded of a run's versions, machine and precision."""
        with self._writing() as db:
            db.execute("UPDATE sessions SET provenance = ? WHERE id = ?", (canonical_json(dict(provenance)), id))

    def end_session(self, id: str) -> None:
        """Record that a run has ended, and merge the write-ahead log, so that the file alone holds everything."""
        with self._writing() as db:
            db.execute("UPDATE sessions SET finished_at = ? WHERE id = ?", (time.time(), id))
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def sessions(self, suite: str, version: int) -> list[dict[str, Any]]:
        """All runs of a suite, oldest first: id, started_at, finished_at, definition, provenance."""
        found = self._read(
            "SELECT id, started_at, finished_at, definition, provenance FROM sessions "
            "WHERE suite = ? AND version = ? ORDER BY started_at",
            (suite, version),
        )
        return [
            {"id": i, "started_at": a, "finished_at": z, "definition": json.loads(s), "provenance": json.loads(p)}
            for i, a, z, s, p in found
        ]

    def define(self, suite: str, version: int, tasks: Mapping[str, str], learners: Mapping[str, str]) -> None:
        """Make these task and learner digests the current ones of their names."""
        items = [("task", *item) for item in tasks.items()] + [("learner", *item) for item in learners.items()]
        with self._writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO definitions VALUES (?, ?, ?, ?, ?)",
                [(suite, version, *item) for item in items],
            )

    def put(self, rows: Iterable[tuple[Row, str, str, str]]) -> None:
        """Commit rows, each with its task digest, learner digest and traceback; a row of the same cell is replaced."""
        with self._writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(r.cell, r.suite, r.suite_version, r.task, r.label, r.d, r.n, r.replicate, r.status),
                        *(task, learner, json.dumps(r.as_dict()), traceback),
                        *(r.release, r.device, r.learner_version),
                    )
                    for r, task, learner, traceback in rows
                ],
            )

    def rows(self, suite: str, version: int, *, every: bool = False) -> list[Row]:
        """Rows of a suite in the order of the grid; with ``every`` also those of definitions no longer current."""
        query = f"SELECT row FROM rows r WHERE suite = ? AND version = ?{'' if every else _CURRENT}{_ORDER}"
        return [Row.read(json.loads(text)) for (text,) in self._read(query, (suite, version))]

    def digest(self, suite: str, version: int) -> str:
        """A hash of the current rows of a suite, without reading what they say."""
        query = f"SELECT row FROM rows r WHERE suite = ? AND version = ?{_CURRENT}{_ORDER}"
        return digest_text("\n".join(text for (text,) in self._read(query, (suite, version))))

    def held(self, suite: str, version: int) -> dict[str, Held]:
        """Status and origin by cell, without reading the rows."""
        origin = '"release", device, learner_version' if self._notes_origins else "NULL, NULL, NULL"
        found = self._read(f"SELECT cell, status, {origin} FROM rows WHERE suite = ? AND version = ?", (suite, version))
        return {cell: Held(status, Origin(*made)) for cell, status, *made in found}

    def learner_versions(self, suite: str, version: int) -> dict[str, Counter[int]]:
        """How many rows there are of each version of a learner, by label, whatever their definitions."""
        found = (
            self._read(
                "SELECT label, learner_version, count(*) FROM rows WHERE suite = ? AND version = ?"
                " AND learner_version IS NOT NULL GROUP BY label, learner_version",
                (suite, version),
            )
            if self._notes_origins
            else []
        )
        versions: dict[str, Counter[int]] = {}
        for label, number, count in found:
            versions.setdefault(label, Counter())[number] = count
        return versions

    def traceback(self, cell: str) -> str:
        """The traceback of a failed cell, or an empty text."""
        found = self._read("SELECT traceback FROM rows WHERE cell = ?", (cell,))
        return found[0][0] if found else ""

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of every suite with a run in this store."""
        return [(name, version) for name, version in self._read("SELECT DISTINCT suite, version FROM sessions", ())]

    def _read(self, query: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"The store in {self.directory} cannot be read: {error}.") from None
