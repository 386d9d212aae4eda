"""Reads the rows of a store: as ``Row`` objects, as columns, or only single facts such as the status of each cell."""

from __future__ import annotations

import json
from array import array
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfc_bench.errors import StoreError
from bfc_bench.store import artifacts
from bfc_bench.store.database import Database
from bfc_bench.store.row import Origin, Row, parse
from bfc_bench.store.rows import Rows, RowsBuilder
from bfc_bench.utils.escape_control import all_visible

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


@dataclass(frozen=True, slots=True)
class KnownCell:
    """Status and origin of the row of a cell."""

    status: str
    origin: Origin


class RowReader(Database):
    """Reads rows. By default those that are current: made under the task and learner definitions of the last run.

    The store keeps all rows, but among current ones a label always stands for one set of options.
    """

    def rows(self, suite: str, version: int, *, every: bool = False) -> list[Row]:
        """The rows of a suite in the order of the grid."""
        return list(self.iter_rows(suite, version, every=every))

    def iter_rows(self, suite: str, version: int, *, every: bool = False) -> Generator[Row, None, None]:
        """``rows`` one by one, as they are in the store when the first is read."""
        with self.snapshot():
            for _, values in self._parsed(suite, version, every):
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

    def known_cells(self, suite: str, version: int) -> dict[str, KnownCell]:
        """What is known of each cell, of all definitions, without parsing rows."""
        query = 'SELECT cell, status, "release", device, learner_version FROM rows WHERE suite = ? AND version = ?'
        distinct: dict[tuple[Any, ...], KnownCell] = {}
        return {
            cell: distinct.setdefault((status, *origin), KnownCell(status, Origin(*origin)))
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
