"""The local store: one SQLite file per directory, one writer, a row committed as soon as its cell ends."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy as np
from pydantic_core import to_json

from bfc_bench.errors import OutputError, StoreError, StoreFailure
from bfc_bench.store import artifacts
from bfc_bench.store.connections import connect_to_read, connect_to_write
from bfc_bench.store.file_system import FileSystem, file_system
from bfc_bench.store.lock import IN_USE, hold
from bfc_bench.store.row import COLUMNS, TAKEN_FOR_GRANTED, Origin, Row
from bfc_bench.store.rows import Builder, Rows
from bfc_bench.store.schema import check_schema
from bfc_bench.store.stored_text import members, some_of, values_of
from bfc_bench.utils.escape_control import all_visible
from bfc_bench.utils.plain_json import canonical_json

_CURRENT = (
    " AND EXISTS (SELECT 1 FROM definitions t WHERE t.suite = r.suite AND t.version = r.version"
    " AND t.kind = 'task' AND t.name = r.task AND t.digest = r.task_digest)"
    " AND EXISTS (SELECT 1 FROM definitions l WHERE l.suite = r.suite AND l.version = r.version"
    " AND l.kind = 'learner' AND l.name = r.label AND l.digest = r.learner_digest)"
)
_ORDER = " ORDER BY task, label, d, n, replicate, rowid"
"""Of two rows of one point the one that was committed later comes last, whatever the clock said."""

_TEXTS_OF = "SELECT r.rowid, r.row FROM json_each(?) j CROSS JOIN rows r ON r.rowid = j.value ORDER BY j.key"
READ_TOGETHER = 1000
"""Rows that one such question is for."""


@dataclass(frozen=True, slots=True)
class KnownCell:
    """What the store knows of a cell without reading its row."""

    status: str
    origin: Origin


class Store:
    """Results of any number of suites in one directory.

    Rows are kept for good. What ``rows`` shows of a suite is its current view: the rows made under the task and learner
    definitions of the last run, so that one label always stands for one set of options.
    """

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        """Open; with ``write`` create if need be, and hold the store until it is closed.

        Raises ``StoreError`` when that is not possible, and at once when another process holds the store for writing.
        """
        self.directory = Path(directory)
        self.path = self.directory / "results.sqlite"
        self._opened = ExitStack()
        self._columns: tuple[tuple[Any, ...], Rows] | None = None
        try:
            with ExitStack() as opening:
                self._db = self._open_to_write(opening) if write else self._open_to_read(opening)
                check_schema(self._db, self.path)
                self._opened = opening.pop_all()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The store in {self.directory} cannot be {'written' if write else 'read'}: {_reason(error)}."
            ) from None

    def _open_to_write(self, opening: ExitStack) -> sqlite3.Connection:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self.directory / "lock").touch(0o600)  # which is asked for locks
        place = file_system(self.directory)
        opening.enter_context(hold(self.directory, place))  # before the file is made: of several that start, one does
        if not place.plain:
            warnings.warn(_warning(self.directory, place), stacklevel=4)
        return opening.enter_context(closing(connect_to_write(self.path, place)))

    def _open_to_read(self, opening: ExitStack) -> sqlite3.Connection:
        if not self.path.exists():
            raise StoreError(
                f"There is no store in {self.directory}; `bfc-bench run SUITE --store {self.directory}` makes one."
            )
        return opening.enter_context(closing(connect_to_read(self.path)))

    @property
    def connection(self) -> sqlite3.Connection:
        """The open file, for those who copy it (``backup``)."""
        return self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all that is written inside is committed together, or none of it."""
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
            raise self._full(error) from None

    def _full(self, error: Exception) -> StoreFailure:
        return StoreFailure(
            f"The store in {self.directory} cannot be written: {str(error).rstrip('.')}. What is in it stays readable; "
            "free space or choose another --store, then run the same command again."
        )

    def close(self) -> None:
        """Close the file, its write-ahead log merged into it, and leave the store to others."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin_session(self, id: str, suite: str, version: int, definition: Any, provenance: Mapping[str, Any]) -> None:
        """Record a run: its suite as resolved, and versions, command line and machine."""
        with self.writing() as db:
            db.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, NULL, ?, ?)",
                (id, suite, version, time.time(), canonical_json(definition), canonical_json(dict(provenance))),
            )

    def amend_session(self, id: str, provenance: Mapping[str, Any]) -> None:
        """Replace what is recorded of a run's versions, machine and precision."""
        with self.writing() as db:
            db.execute("UPDATE sessions SET provenance = ? WHERE id = ?", (canonical_json(dict(provenance)), id))

    def end_session(self, id: str) -> None:
        """Record that a run has ended, and merge the write-ahead log, so that the file alone holds everything."""
        with self.writing() as db:
            db.execute("UPDATE sessions SET finished_at = ? WHERE id = ?", (time.time(), id))
        with suppress(sqlite3.Error):  # for want of room: the log holds what the file does not
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def sessions(self, suite: str, version: int) -> list[dict[str, Any]]:
        """All runs of a suite in the order in which they began, whatever the clock said: id, started_at, finished_at,
        definition, provenance."""
        found = self._read(
            "SELECT id, started_at, finished_at, definition, provenance FROM sessions "
            "WHERE suite = ? AND version = ? ORDER BY rowid",
            (suite, version),
        )
        return [
            {"id": i, "started_at": a, "finished_at": z, "definition": json.loads(s), "provenance": json.loads(p)}
            for i, a, z, s, p in found
        ]

    def define(self, suite: str, version: int, tasks: Mapping[str, str], learners: Mapping[str, str]) -> None:
        """Make these task and learner digests the current ones of their names."""
        items = [("task", *item) for item in tasks.items()] + [("learner", *item) for item in learners.items()]
        with self.writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO definitions VALUES (?, ?, ?, ?, ?)",
                [(suite, version, *item) for item in items],
            )

    def definitions(self, suite: str, version: int) -> dict[tuple[str, str], str]:
        """The current digests of tasks and learners, by kind and name."""
        query = "SELECT kind, name, digest FROM definitions WHERE suite = ? AND version = ?"
        return {(kind, name): digest for kind, name, digest in self._read(query, (suite, version))}

    def note_looks(self, suite: str, version: int, looks: Iterable[Mapping[str, Any]]) -> None:
        """Commit looks at claims, all or none: plain values with claim, content, data, replicates and verdict, which is
        None while the look is planned. One of the same claim, data and replicates is replaced.
        """
        key = ("claim", "content", "data", "replicates", "verdict")
        with self.writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO looks VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(suite, version, *(look[name] for name in key), canonical_json(dict(look))) for look in looks],
            )

    def looks(self, suite: str, version: int) -> list[dict[str, Any]]:
        """What ``note_looks`` was given, by claim and replicates."""
        query = "SELECT record FROM looks WHERE suite = ? AND version = ? ORDER BY claim, data, replicates"
        return [json.loads(record) for (record,) in self._read(query, (suite, version))]

    def put(
        self, rows: Iterable[tuple[Row, str, str, str]], files: Mapping[str, Mapping[str, bytes]] = MappingProxyType({})
    ) -> None:
        """Commit rows, each with its task digest, learner digest and traceback; a row of the same cell is replaced.

        ``files`` are artifacts by cell and name, those that the rows name; they are written first.
        """
        rows = list(rows)
        try:
            for row, *_ in rows:
                if row.cell in files:
                    artifacts.keep(self.directory, row, files[row.cell])
        except OutputError as error:
            raise self._full(error) from None
        with self.writing() as db:
            db.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(r.cell, r.suite, r.suite_version, r.task, r.label, r.d, r.n, r.replicate, r.status),
                        *(task, learner, to_json(r.as_dict()).decode(), traceback),
                        *(r.release, r.device, r.learner_version),
                    )
                    for r, task, learner, traceback in rows
                ],
            )
        artifacts.tidy(self.directory, (row for row, *_ in rows))

    def rows(self, suite: str, version: int, *, every: bool = False) -> list[Row]:
        """Rows of a suite in the order of the grid; with ``every`` also those of definitions no longer current."""
        return list(self.each(suite, version, every=every))

    def each(self, suite: str, version: int, *, every: bool = False) -> Generator[Row, None, None]:
        """The same rows one by one, all of the moment at which the first was asked for."""
        unreadable = 0
        with self.snapshot():
            for _, text in self._texts(suite, version, every=every):
                if (values := values_of(text)) is None:
                    unreadable += 1
                else:
                    yield Row(**values)
        self._warn(unreadable, suite, version)

    def columns(self, suite: str, version: int, *, every: bool = False, only: Sequence[str] = COLUMNS) -> Rows:
        """The same rows as columns. ``Row`` objects that they are asked for are read from the store, open then.

        Where these columns ``only`` are needed, beside those that tell cells apart, SQLite takes them out of the rows'
        texts in half the time of reading all; ``chosen.data`` is one key of a column. What was read last is given again
        while nobody has written.
        """
        asked = (suite, version, every, tuple(only), self._state())
        if self._columns is None or self._columns[0] != asked:
            self._columns = None
            self._columns = asked, self._as_columns(suite, version, every, only)
        return self._columns[1]

    def columns_and_each(self, suite: str, version: int, take: Callable[[Mapping[str, Any]], None]) -> Rows:
        """``columns``, read anew, with ``take`` called with the columns of each row, in the order of the grid."""
        taken, rowids = Builder(), array("q")
        self._columns = None
        state, unreadable = self._state(), 0
        with self.snapshot():
            for rowid, text in self._texts(suite, version):
                if (values := values_of(text)) is None:
                    unreadable += 1
                    continue
                taken.add(values)
                rowids.append(rowid)
                take(values)
        self._warn(unreadable, suite, version)
        rows = taken.rows(lambda i: self._row(rowids[i]))
        self._columns = (suite, version, False, COLUMNS, state), rows
        return rows

    def _texts(self, suite: str, version: int, *, every: bool = False) -> Iterator[tuple[int, str]]:
        """Rows as they are stored, with their rowids, in the order of the grid; inside a snapshot.

        Only rowids are sorted, and ``READ_TOGETHER`` texts are there at once.
        """
        query = f"SELECT rowid FROM rows r WHERE suite = ? AND version = ?{'' if every else _CURRENT}{_ORDER}"
        found = array("q", (rowid for (rowid,) in self.stream(query, (suite, version))))
        for first in range(0, len(found), READ_TOGETHER):
            yield from self.stream(_TEXTS_OF, (json.dumps(found[first : first + READ_TOGETHER].tolist()),))

    def _as_columns(self, suite: str, version: int, every: bool, only: Sequence[str]) -> Rows:
        taken, rowids = Builder(), array("q")
        names = COLUMNS if only == COLUMNS else tuple(dict.fromkeys([*TAKEN_FOR_GRANTED, *only]))
        what = "row" if names == COLUMNS else members(names)
        query = f"SELECT rowid, {what} FROM rows r WHERE suite = ? AND version = ?{'' if every else _CURRENT}"
        unreadable = 0
        for rowid, text in self.stream(query, (suite, version)):
            if (values := values_of(text) if names == COLUMNS else some_of(text, names)) is None:
                unreadable += 1
                continue
            taken.add(values)
            rowids.append(rowid)
        self._warn(unreadable, suite, version)
        return taken.rows(lambda i: self._row(rowids[i])).ordered(np.array(rowids, dtype=np.int64))

    def _row(self, rowid: int) -> Row:
        return Row(**(self._find(rowid) or {}))

    def _find(self, rowid: int) -> dict[str, Any] | None:
        found = self._read("SELECT row FROM rows WHERE rowid = ?", (rowid,))
        if not found:
            raise StoreError(f"A row of the store in {self.directory} was replaced while it was read; read again.")
        return values_of(found[0][0])

    def _warn(self, unreadable: int, suite: str, version: int) -> None:
        if unreadable:
            warnings.warn(
                f"The store in {self.directory} holds {unreadable} rows of {suite}@{version} that this release of "
                "bfc-bench cannot read; they are left out. Rows of a later release need that release.",
                stacklevel=3,
            )

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Inside, all that is read is of one moment, whoever writes meanwhile."""
        self._read("BEGIN", ())
        try:
            yield
        finally:
            self._read("ROLLBACK", ())

    def _state(self) -> tuple[int, int]:
        """What changes with every write to the file, by this connection or another one."""
        return int(self._read("PRAGMA data_version", ())[0][0]), self._db.total_changes

    def digest(self, suite: str, version: int) -> str:
        """A hash of the current rows of a suite, without reading what they say."""
        found = hashlib.blake2b(digest_size=8)
        with self.snapshot():
            for i, (_, text) in enumerate(self._texts(suite, version)):
                found.update(f"{chr(10) * (i > 0)}{text}".encode())
        return found.hexdigest()

    def made(self, suite: str, version: int) -> list[tuple[str, float | None]]:
        """When each of the current rows of a suite was made, by cell: other rows, other times."""
        query = f"SELECT cell, row -> '$.finished_at' FROM rows r WHERE suite = ? AND version = ?{_CURRENT}"
        return sorted((cell, json.loads(text or "null")) for cell, text in self.stream(query, (suite, version)))

    def held(self, suite: str, version: int) -> dict[str, KnownCell]:
        """Status and origin by cell, without reading the rows."""
        query = 'SELECT cell, status, "release", device, learner_version FROM rows WHERE suite = ? AND version = ?'
        found = self.stream(query, (suite, version))
        kinds: dict[tuple[Any, ...], KnownCell] = {}
        return {
            cell: kinds.setdefault((status, *made), KnownCell(status, Origin(*made))) for cell, status, *made in found
        }

    def learner_versions(self, suite: str, version: int) -> dict[str, Counter[int]]:
        """How many rows there are of each version of a learner, by label, whatever their definitions."""
        found = self._read(
            "SELECT label, learner_version, count(*) FROM rows WHERE suite = ? AND version = ?"
            " AND learner_version IS NOT NULL GROUP BY label, learner_version",
            (suite, version),
        )
        versions: dict[str, Counter[int]] = {}
        for label, number, count in found:
            versions.setdefault(label, Counter())[number] = count
        return versions

    def traceback(self, cell: str) -> str:
        """The traceback of a failed cell, or an empty text."""
        found = self._read("SELECT traceback FROM rows WHERE cell = ?", (cell,))
        return all_visible(found[0][0]) if found else ""

    def artifacts(self, cell: str) -> dict[str, Path]:
        """The files by name that a cell's row names, and that hold what it says."""
        found = self._read("SELECT suite, version, row -> '$.artifacts' FROM rows WHERE cell = ?", (cell,))
        (suite, version, named) = found[0] if found else ("", 0, None)
        return artifacts.intact(self.directory, suite, version, cell, json.loads(named or "{}"))

    def provenance(self, cell: str) -> str | None:
        """Identity of the session that made the row of a cell; None for a cell without a row."""
        session = "CASE WHEN json_valid(row) THEN row -> '$.provenance' END"
        found = self._read(f"SELECT {session} FROM rows WHERE cell = ?", (cell,))
        return str(json.loads(found[0][0] or '""')) if found else None

    def facts(self, session: str) -> dict[str, Any] | None:
        """What is recorded of a run's versions, machine and precision; None for one that is unknown."""
        found = self._read("SELECT provenance FROM sessions WHERE id = ?", (session,))
        return json.loads(found[0][0]) if found else None

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of every suite with a run in this store."""
        return [(name, version) for name, version in self._read("SELECT DISTINCT suite, version FROM sessions", ())]

    def stream(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Lines of an SQL query, one by one. Raises ``StoreError`` where the file cannot be read."""
        try:
            yield from self._db.execute(query, values)
        except sqlite3.Error as error:
            raise StoreError(f"The store in {self.directory} cannot be read: {error}.") from None

    def _read(self, query: str, values: Sequence[Any]) -> list[Any]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"The store in {self.directory} cannot be read: {error}.") from None


def _reason(error: sqlite3.Error | OSError) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _warning(directory: Path, place: FileSystem) -> str:
    """What to know of a store that lies where SQLite cannot do its best."""
    what = f"on {place.kind}, which machines share" if place.shared else "on a file system without locks"
    readers = "" if place.locks else ", readers see a copy"
    return (
        f"the store in {directory} lies {what}: it has a journal in the place of the log{readers}, and the file "
        f"{IN_USE!r} in it says who writes. A disk of one machine is faster."
    )
