"""The local store: one SQLite file per folder, with one writer, which commits each row when its cell ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from pydantic_core import to_json

from bfc_bench.errors import OutputError
from bfc_bench.store import artifacts
from bfc_bench.store.looks import StoredLooks
from bfc_bench.store.reader import RowReader
from bfc_bench.store.row import Row
from bfc_bench.store.sessions import Sessions


class Store(RowReader):
    """The results of any number of suites in one folder."""

    @cached_property
    def sessions(self) -> Sessions:
        """The runs and the current definitions."""
        return Sessions(self)

    @cached_property
    def looks(self) -> StoredLooks:
        """The looks (interim analyses) at claims."""
        return StoredLooks(self)

    def put(
        self, rows: Iterable[tuple[Row, str, str, str]], files: Mapping[str, Mapping[str, bytes]] = MappingProxyType({})
    ) -> None:
        """Commit rows in one transaction; a row of the same cell is replaced.

        ``rows`` holds each row with its task digest, learner digest and traceback. ``files`` holds the artifacts that
        the rows list, by cell and name; they are written first.
        """
        rows = list(rows)
        self.require_own_file()  # before artifacts are written to the folder
        try:
            for row, *_ in rows:
                if row.cell in files:
                    artifacts.write(self.directory, row, files[row.cell])
        except OutputError as error:
            raise self.write_error(error) from None
        with self.transaction() as db:
            db.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(r.cell, r.suite, r.suite_version, r.task, r.label, r.d, r.n, r.replicate, r.status),
                        *(task, learner, text, traceback, r.release, r.device, r.learner_version),
                    )
                    for r, task, learner, traceback in rows
                    for text in (to_json(r.as_dict()).decode(),)
                ],
            )

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of each suite that has a run in this store."""
        return self.sessions.suites()
