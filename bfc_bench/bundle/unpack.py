"""Makes a store of a bundle again. Records that this program could not have written are refused, as from any store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bfc_bench.bundle.archive import LOOKS, ROWS, RUNS, Archive, folder_of, is_bundle
from bfc_bench.bundle.row_table import rows_from_parquet
from bfc_bench.errors import StoreError
from bfc_bench.store.gate import (
    changed_rows,
    definition_is_acceptable,
    look_is_acceptable,
    row_is_acceptable,
    row_is_unchanged,
    session_is_acceptable,
)
from bfc_bench.store.merge import Record, insert
from bfc_bench.store.store import Store
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.plain_json import canonical_json

SHOWN = 5
"""Maximum number of cells in a message."""


@dataclass
class Refused:
    """What of a suite in a bundle was not unpacked."""

    suite: str
    changed: list[str] = field(default_factory=list)
    """Cells of rows that do not fit their digest."""
    rows: int = 0
    """Rows that this program could not have written, or that are about another suite."""
    records: int = 0
    """Runs, definitions and looks that this program could not have written."""

    @property
    def problems(self) -> list[str]:
        """A line for each kind of refused records."""
        cells = ", ".join(visible(cell) for cell in self.changed[:SHOWN]) + ", ..." * (len(self.changed) > SHOWN)
        counted = f"{self.rows} row{'s' * (self.rows != 1)}", f"{self.records} run, look or definition"
        could_not = "that bfc-bench could not have written"
        return [
            *[f"{self.suite}: {changed_rows(len(self.changed))}: {cells}"] * bool(self.changed),
            *[f"{self.suite}: {counted[0]} {could_not}"] * bool(self.rows),
            *[f"{self.suite}: {counted[1]} {could_not}"] * bool(self.records),
        ]


def unpack(archive: Archive, directory: Path) -> list[Refused]:
    """Write the runs, definitions, looks and rows of a bundle into a new store.

    Args:
        archive: The bundle.
        directory: Folder of the store, which must not have one yet.

    Returns:
        What was refused, of each suite with refused records.

    Raises:
        StoreError: The bundle is damaged.
    """
    with Store(directory, write=True) as store:
        refused = [_unpack_suite(archive, store, *suite) for suite in archive.suites]
    return [found for found in refused if found.problems]


def _unpack_suite(archive: Archive, store: Store, suite: str, version: int) -> Refused:
    folder, refused = folder_of(suite, version), Refused(visible(f"{suite}@{version}"))
    runs, looks = (archive.read_json(f"{folder}/{name}") for name in (RUNS, LOOKS))
    tables = runs if isinstance(runs, dict) else {}
    rows_name = f"{folder}/{ROWS}"
    records = rows_from_parquet(archive.read(rows_name), f"{archive.path}: {rows_name}")
    with store.transaction() as db:
        for record in _filtered(_sessions(tables.get("runs"), suite, version), session_is_acceptable, refused):
            insert(db, "sessions", record)
        for record in _filtered(_definitions(tables.get("current"), suite, version), definition_is_acceptable, refused):
            insert(db, "definitions", record)
        for record in _filtered(_looks(looks, suite, version), look_is_acceptable, refused):
            insert(db, "looks", record)
        _insert_rows(db, records, (suite, version), refused)
    return refused


def _insert_rows(
    db: sqlite3.Connection, records: Iterable[Record | None], suite: tuple[str, int], refused: Refused
) -> None:
    cells: set[object] = set()
    for record in records:
        if record is None or record[1:3] != suite or record[0] in cells or not row_is_acceptable(record):
            refused.rows += 1
        elif not row_is_unchanged(record):
            refused.changed.append(str(record[0]))
        else:
            cells.add(record[0])
            insert(db, "rows", record)


def _filtered(records: Iterable[Record], is_acceptable: Any, refused: Refused) -> Iterator[Record]:
    for record in records:
        try:
            accepted = is_acceptable(record)
        except TypeError:  # a value that cannot be hashed
            accepted = False
        if accepted:
            yield record
        else:
            refused.records += 1


def _sessions(runs: Any, suite: str, version: int) -> Iterator[Record]:
    for run in _objects(runs):
        texts = (canonical_json(run.get(name)) for name in ("definition", "provenance"))
        yield run.get("id"), suite, version, run.get("started_at"), run.get("finished_at"), *texts


def _definitions(current: Any, suite: str, version: int) -> Iterator[Record]:
    for one in _objects(current):
        yield suite, version, one.get("kind"), one.get("name"), one.get("digest")


def _looks(looks: Any, suite: str, version: int) -> Iterator[Record]:
    names = ("claim", "content", "data", "replicates", "verdict")
    for look in _objects(looks):
        yield suite, version, *map(look.get, names), canonical_json(look)


def _objects(values: Any) -> Iterator[Mapping[str, Any]]:
    """The objects in a list of JSON; for anything else an object without a key, which is refused."""
    for value in values if isinstance(values, list) else [None]:
        yield value if isinstance(value, dict) else {}


@contextmanager
def stores_of(paths: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Folders of stores: those of ``paths`` themselves, and of each bundle a temporary one of the same name.

    Yields the folder of each path. Raises ``StoreError`` for a bundle of which anything is refused.
    """
    with TemporaryDirectory(prefix="bfc-bench-") as temporary:
        folders: dict[Path, Path] = {}
        for number, path in enumerate(paths):
            folders[path] = path
            if is_bundle(path):
                folders[path] = Path(temporary, str(number), path.stem)
                with Archive(path) as archive:
                    refused = unpack(archive, folders[path])
                if problems := [problem for found in refused for problem in found.problems]:
                    raise StoreError(f"{path} is refused. " + "; ".join(problems) + ".")
        yield folders
