"""The local store: one SQLite file per folder, with one writer, which commits each row when its cell ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType

from pydantic_core import to_json

from bfc_bench.errors import OutputError
from bfc_bench.store import artifacts
from bfc_bench.store.looks import StoredLooks
from bfc_bench.store.reader import RowReader
from bfc_bench.store.records import insert, records_of
from bfc_bench.store.row import Row
from bfc_bench.store.sessions import Sessions


class Store(RowReader, AbstractContextManager["Store"]):
    """The results of any number of suites in one folder. A context manager."""

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        """Open the store in a folder, as ``Database`` does."""
        super().__init__(directory, write=write)
        self.sessions = Sessions(self)
        """The runs and the current definitions."""
        self.looks = StoredLooks(self)
        """The looks (interim analyses) at claims."""

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

    def suites(self) -> list[tuple[str, int]]:
        """Name and version of each suite that has a run in this store."""
        return list(dict.fromkeys((record[1], record[2]) for record in records_of(self, "sessions")))
