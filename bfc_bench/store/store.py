"""The results in one folder: rows and sessions (runs) in an SQLite file, artifacts beside it."""

import json
import time
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic_core import to_json

from bfc_bench.errors import OutputError, StoreError
from bfc_bench.store import artifacts
from bfc_bench.store.database import Database
from bfc_bench.store.records import insert, records_of
from bfc_bench.store.row import Origin, Row, parse
from bfc_bench.store.rows import Rows, RowsBuilder
from bfc_bench.utils.escape_control import all_visible
from bfc_bench.utils.plain_json import canonical_json

_CURRENT = (
    " AND EXISTS (SELECT 1 FROM definitions t WHERE t.suite = r.suite AND t.version = r.version"
    " AND t.kind = 'task' AND t.name = r.task AND t.digest = r.task_digest)"
    " AND EXISTS (SELECT 1 FROM definitions l WHERE l.suite = r.suite AND l.version = r.version"
    " AND l.kind = 'learner' AND l.name = r.label AND l.digest = r.learner_digest)"
)
_ORDER = " ORDER BY task, label, d, n, replicate, rowid"
"""Of two rows of one point, the one that was committed later comes last, because clocks can go back."""

_BY_ROWID = "SELECT r.rowid, row FROM json_each(?) j CROSS JOIN rows r ON r.rowid = j.value ORDER BY j.key"
READ_TOGETHER = 1000
"""Number of rows that are read by one query."""


class Store(Database):
    """The results of any number of suites. A context manager.

    By default the rows are those that are current: made under the task and learner definitions of the last run. The
    store keeps all rows, but among current ones a label always stands for one set of options.
    """

    # --- rows ---

    def rows(self, suite: str, version: int, *, every: bool = False) -> list[Row]:
        """The rows of a suite in the order of the grid."""
        return list(self.each(suite, version, every=every))

    def each(self, suite: str, version: int, *, every: bool = False) -> Generator[Row, None, None]:
        """``rows`` one by one, as they are in the store when the first is read."""
        with Store(self.directory) as own, own.snapshot():  # apart, so that others can be read meanwhile
            for _, values in own._parsed(suite, version, every):
                yield Row(**values)

    def columns(self, suite: str, version: int, *, every: bool = False) -> Rows:
        """The rows as columns. ``Row`` objects are read when they are needed, while the store is open.

        The last result is returned again as long as the file has not changed.
        """
        return self.once(self._read_columns, suite, version, every)

    def _read_columns(self, suite: str, version: int, every: bool) -> Rows:
        builder, rowids = RowsBuilder(), array("q")
        with self.snapshot():
            for rowid, values in self._parsed(suite, version, every):
                builder.add(values)
                rowids.append(rowid)
        return builder.rows(lambda i: self._row(rowids[i]))

    def _parsed(self, suite: str, version: int, every: bool) -> Iterator[tuple[int, dict[str, Any]]]:
        """Rowids and columns of rows in the order of the grid; to be called inside a snapshot.

        Only rowids are sorted, and at most ``READ_TOGETHER`` texts are in memory at once.
        """
        query = f"SELECT rowid FROM rows r WHERE suite = ? AND version = ?{'' if every else _CURRENT}{_ORDER}"
        rowids = array("q", (rowid for (rowid,) in self.stream(query, (suite, version))))
        for first in range(0, len(rowids), READ_TOGETHER):
            for rowid, text in self.stream(_BY_ROWID, (json.dumps(rowids[first : first + READ_TOGETHER].tolist()),)):
                try:
                    yield rowid, parse(text)
                except ValueError as error:
                    raise self.unreadable(f"row {rowid}", error) from None

    def _row(self, rowid: int) -> Row:
        records = self.read("SELECT row FROM rows WHERE rowid = ?", (rowid,))
        if not records:
            raise StoreError(
                f"A row of the store in {self.directory} was replaced while it was read. Read the rows again."
            )
        return Row(**parse(records[0][0]))

    def finish_times(self, suite: str, version: int) -> list[tuple[str, float | None]]:
        """Cells of the current rows with their ``finished_at``, sorted; this tells whether rows have changed."""
        query = f"SELECT cell, row -> '$.finished_at' FROM rows r WHERE suite = ? AND version = ?{_CURRENT}"
        return sorted((cell, json.loads(text or "null")) for cell, text in self.stream(query, (suite, version)))

    def distinct(self, suite: str, version: int, column: str, *, every: bool = False) -> list[str]:
        """The distinct values of ``task``, ``label`` or ``status``, sorted, without parsing rows."""
        query = f"SELECT DISTINCT {column} FROM rows r WHERE suite = ? AND version = ?{'' if every else _CURRENT}"
        return sorted(value for (value,) in self.stream(query, (suite, version)))

    def known_cells(self, suite: str, version: int) -> dict[str, tuple[str, Origin]]:
        """Status and origin of the row of each cell, of all definitions, without parsing rows."""
        query = 'SELECT cell, status, "release", device, learner_version FROM rows WHERE suite = ? AND version = ?'
        distinct: dict[tuple[Any, ...], tuple[str, Origin]] = {}
        return {
            cell: distinct.setdefault((status, *origin), (status, Origin(*origin)))
            for cell, status, *origin in self.stream(query, (suite, version))
        }

    def traceback(self, cell: str) -> str:
        """The traceback of a failed cell; empty for other cells."""
        records = self.read("SELECT traceback FROM rows WHERE cell = ?", (cell,))
        return all_visible(records[0][0]) if records else ""

    def artifacts(self, cell: str) -> dict[str, Path]:
        """Paths of the artifacts of a cell by name, without those that are missing or changed."""
        records = self.read("SELECT suite, version, row -> '$.artifacts' FROM rows WHERE cell = ?", (cell,))
        suite, version, listed = records[0] if records else ("", 0, None)
        return artifacts.intact(self.directory, suite, version, cell, json.loads(listed or "{}"))

    def put(
        self, rows: Iterable[tuple[Row, str, str, str]], files: Mapping[str, Mapping[str, bytes]] = MappingProxyType({})
    ) -> None:
        """Commit rows in one transaction; a row of the same cell is replaced.

        ``rows`` holds each row with its task digest, learner digest and traceback. ``files`` holds the artifacts that
        the rows list, by cell and name; they are written first.
        """
        rows = list(rows)
        try:
            for row, *_ in rows:
                if row.cell in files:
                    artifacts.write(self.directory, row, files[row.cell])
        except OutputError as error:
            raise self.write_error(error) from None
        with self.transaction() as db:
            for row, *digests, traceback in rows:
                point = row.cell, row.suite, row.suite_version, row.task, row.label, row.d, row.n, row.replicate
                text = to_json(row.as_dict()).decode()
                origin = row.release, row.device, row.learner_version
                insert(db, "rows", (*point, row.status, *digests, text, traceback, *origin))

    # --- runs ---

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of each suite that has a run in this store."""
        return list(dict.fromkeys((record[1], record[2]) for record in records_of(self, "sessions")))

    def begin_session(self, id: str, suite: str, version: int, definition: Any, provenance: Mapping[str, Any]) -> None:
        """Record the start of a run."""
        with self.transaction() as db:
            texts = canonical_json(definition), canonical_json(dict(provenance))
            insert(db, "sessions", (id, suite, version, time.time(), None, *texts))

    def amend_session(self, id: str, provenance: Mapping[str, Any]) -> None:
        """Replace the provenance of a run."""
        with self.transaction() as db:
            db.execute("UPDATE sessions SET provenance = ? WHERE id = ?", (canonical_json(dict(provenance)), id))

    def end_session(self, id: str) -> None:
        """Record the end of a run."""
        with self.transaction() as db:
            db.execute("UPDATE sessions SET finished_at = ? WHERE id = ?", (time.time(), id))

    def sessions(self, suite: str, version: int) -> list[dict[str, Any]]:
        """All runs of a suite in the order in which they were recorded, because clocks can go back.

        Each has ``id``, ``started_at`` and ``finished_at`` (Unix time in seconds), ``definition`` and ``provenance``.
        They are read once as long as the file does not change, and all callers share what is nested in them.
        """
        return [dict(run) for run in self.once(self._read_sessions, suite, version)]

    def _read_sessions(self, suite: str, version: int) -> list[dict[str, Any]]:
        return [
            {"id": i, "started_at": a, "finished_at": z, "definition": json.loads(s), "provenance": json.loads(p)}
            for i, _, _, a, z, s, p in records_of(self, "sessions", (suite, version))
        ]

    def provenance(self, session: str) -> dict[str, Any] | None:
        """Versions, command line, machine and precision of a run; None for an unknown run."""
        records = self.read("SELECT provenance FROM sessions WHERE id = ?", (session,))
        return json.loads(records[0][0]) if records else None

    def define(self, suite: str, version: int, tasks: Mapping[str, str], learners: Mapping[str, str]) -> None:
        """Make these definitions the current ones."""
        items = [("task", *item) for item in tasks.items()] + [("learner", *item) for item in learners.items()]
        with self.transaction() as db:
            for item in items:
                insert(db, "definitions", (suite, version, *item))

    def definitions(self, suite: str, version: int) -> dict[tuple[str, str], str]:
        """Current digests by kind (``task`` or ``learner``) and name."""
        records = records_of(self, "definitions", (suite, version))
        return {(kind, name): digest for _, _, kind, name, digest in records}
