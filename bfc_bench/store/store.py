"""The local store: one SQLite file per directory, one writer, a row committed as soon as its cell ends."""

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
    """Results of any number of suites in one directory."""

    @cached_property
    def sessions(self) -> Sessions:
        """The runs."""
        return Sessions(self)

    @cached_property
    def looks(self) -> StoredLooks:
        """The looks at claims."""
        return StoredLooks(self)

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
            raise self.write_error(error) from None
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

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of every suite with a run in this store."""
        return self.sessions.suites()
