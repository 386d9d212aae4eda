"""Reading rows of a store: as ``Row`` objects, as columns, or only what is known without reading them."""

from __future__ import annotations

import hashlib
import json
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bfc_bench.errors import StoreError
from bfc_bench.store import artifacts
from bfc_bench.store.database import Database
from bfc_bench.store.row import COLUMNS, TAKEN_FOR_GRANTED, Origin, Row
from bfc_bench.store.rows import Builder, Rows
from bfc_bench.store.stored_text import members, some_of, values_of
from bfc_bench.utils.escape_control import all_visible

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


class RowReader(Database):
    """Rows are kept for good. What is shown of a suite is its current view: the rows made under the task and learner
    definitions of the last run, so that one label always stands for one set of options.
    """

    _columns: tuple[tuple[Any, ...], Rows] | None = None
    """The columns that were read last, and what was asked for."""

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
        found = self.read("SELECT row FROM rows WHERE rowid = ?", (rowid,))
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

    def _state(self) -> tuple[int, int]:
        """What changes with every write to the file, by this connection or another one."""
        return int(self.read("PRAGMA data_version")[0][0]), self._db.total_changes

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
        found = self.read(
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
        found = self.read("SELECT traceback FROM rows WHERE cell = ?", (cell,))
        return all_visible(found[0][0]) if found else ""

    def artifacts(self, cell: str) -> dict[str, Path]:
        """The files by name that a cell's row names, and that hold what it says."""
        found = self.read("SELECT suite, version, row -> '$.artifacts' FROM rows WHERE cell = ?", (cell,))
        (suite, version, named) = found[0] if found else ("", 0, None)
        return artifacts.intact(self.directory, suite, version, cell, json.loads(named or "{}"))

    def provenance(self, cell: str) -> str | None:
        """Identity of the session that made the row of a cell; None for a cell without a row."""
        session = "CASE WHEN json_valid(row) THEN row -> '$.provenance' END"
        found = self.read(f"SELECT {session} FROM rows WHERE cell = ?", (cell,))
        return str(json.loads(found[0][0] or '""')) if found else None
