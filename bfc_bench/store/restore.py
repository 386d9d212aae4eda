"""Puts a backup in the place of a store: the counterpart of ``backup``."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from bfc_bench.errors import OutputError, StoreError
from bfc_bench.store import artifacts
from bfc_bench.store.backup import SHARDS, copy_file, replace_folder
from bfc_bench.store.connections import connect_to_read, connect_to_write, connect_without_log
from bfc_bench.store.file_system import FileSystem
from bfc_bench.store.gate import ACCEPTABLE, row_is_unchanged
from bfc_bench.store.lock import lock_folder
from bfc_bench.store.log_identity import check_log
from bfc_bench.store.schema import check_schema
from bfc_bench.store.stored_text import parse_row
from bfc_bench.utils.files import put_in_place, write_file

_CELL, _SUITE, _VERSION, _ROW, _DIGEST = 0, 1, 2, 11, -1
"""Indices in a record of ``rows``."""


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    rows: int
    suites: int
    removed: int
    """Rows of the replaced store that the backup lacks."""

    def __str__(self) -> str:
        removed = f"; {_rows(self.removed)} that the backup lacks removed" if self.removed else ""
        return f"{_rows(self.rows)} of {self.suites} suite{'s' * (self.suites != 1)} restored{removed}"


@dataclass(frozen=True)
class _Verified:
    digests: frozenset[bytes]
    """The digest of each row."""
    suites: frozenset[tuple[str, int]]
    artifacts: Mapping[tuple[str, int, str], Mapping[str, str]]
    """By suite, version and cell: digests of the cell's artifacts by name."""


def restore(backup: Path, directory: Path, *, force: bool = False) -> Restored:
    """Replace the store in a folder by a backup, after everything in the backup was verified.

    The store's file is replaced in one step, and then the logs that a killed run left are removed. After a kill, the
    store has its old rows or those of the backup; if there is still a log, opening it is an error until the restore is
    repeated. Artifacts are written before the rows that list them. Jobs of shards that the store has stay.

    Args:
        backup: Folder that ``backup`` made, or a store's file alone, which has no artifacts.
        directory: Folder of the store, which is made if it is missing.
        force: Whether to replace a store that has rows which the backup lacks, or that cannot be read.

    Raises:
        StoreError: The backup is damaged, the store is in use, or it has more rows and there is no ``force``. Nothing
            was changed.
        OutputError: The store cannot be written.
    """
    folder = backup if backup.is_dir() else None
    source, target = (folder / "results.sqlite" if folder else backup), directory / "results.sqlite"
    if not source.exists():
        raise StoreError(f"There is no backup in {backup}: {source} does not exist.")
    if target.exists() and source.samefile(target):
        raise StoreError(f"{backup} is the store in {directory} itself. Name a backup of it.")
    with ExitStack() as opened:
        try:
            db = opened.enter_context(closing(connect_to_read(source)))
            db.execute("BEGIN")  # so that what is copied is what was verified
            check_schema(db, source)
            verified = _verify(db, source, folder)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"The backup {backup} cannot be read: {error}. Use another backup.") from None
        try:
            disk = opened.enter_context(lock_folder(directory))
            removed = _rows_only_in(target, disk, verified, force=force)
            if removed and not force:
                raise StoreError(
                    f"The store in {directory} has {_rows(removed)} that {backup} lacks. Nothing was changed. Use "
                    "`bfc-bench merge` to keep the rows of both, or --force to remove these."
                )
            _put_in_place(db, target, folder, verified)
        except OSError as error:
            raise OutputError(f"The store in {directory} cannot be written: {error.strerror or error}.") from None
    return Restored(len(verified.digests), len(verified.suites), removed)


def _verify(db: sqlite3.Connection, source: Path, folder: Path | None) -> _Verified:
    """Read a whole backup. Raises ``StoreError`` if any record or artifact is not as this program wrote it."""
    if (problem := str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])) != "ok":
        raise StoreError(f"{source} is damaged: {' '.join(problem.split())[:200]}. Use another backup.")
    digests: set[bytes] = set()
    listed: dict[tuple[str, int, str], dict[str, str]] = {}
    wrong: Counter[str] = Counter()
    for table, is_acceptable in ACCEPTABLE.items():
        for record in db.execute(f"SELECT * FROM {table}"):
            if not is_acceptable(record) or (table == "rows" and not row_is_unchanged(record)):
                wrong[table] += 1
            elif table == "rows":
                digests.add(record[_DIGEST])
                values = parse_row(record[_ROW], record[_CELL]) or {}
                if files := values.get("artifacts"):
                    listed[record[_SUITE], record[_VERSION], record[_CELL]] = files
    if wrong:
        counts = ", ".join(f"{count} of the table {table!r}" for table, count in wrong.items())
        raise StoreError(
            f"{source} has records that bfc-bench could not have written or that were changed since: {counts}. Use "
            "another backup."
        )
    suites = frozenset(db.execute("SELECT DISTINCT suite, version FROM rows"))
    if folder:
        missing = sum(len(files.keys() - artifacts.intact(folder, *cell, files)) for cell, files in listed.items())
        if missing:
            raise StoreError(
                f"{folder} lacks {missing} artifact{'s' * (missing != 1)} that its rows list, or they were changed. "
                f"Use another backup, or restore the rows alone from {source}."
            )
    return _Verified(frozenset(digests), suites, listed)


def _rows_only_in(target: Path, disk: FileSystem, verified: _Verified, *, force: bool) -> int:
    """The number of rows of the store that the backup lacks, without rows that do not fit their digest."""
    if not target.exists() or not target.stat().st_size:
        return 0
    try:
        with closing(_open(target, disk)) as db:
            check_schema(db, target)
            records = db.execute("SELECT * FROM rows")
            count = sum(row_is_unchanged(record) and record[_DIGEST] not in verified.digests for record in records)
    except (sqlite3.Error, StoreError) as error:
        if not force:
            raise StoreError(
                f"The store in {target.parent} cannot be read, so that nothing is known of its rows: "
                f"{str(error).rstrip('.')}. Nothing was changed. Use --force to replace it."
            ) from None
        return 0
    return count


def _open(target: Path, disk: FileSystem) -> sqlite3.Connection:
    """The store's file with its log, or without a log that belongs to another file, whose rows cannot be read."""
    try:
        check_log(target)
    except StoreError:
        return connect_without_log(target)
    return connect_to_write(target, disk)


def _put_in_place(db: sqlite3.Connection, target: Path, folder: Path | None, verified: _Verified) -> None:
    aside = target.with_name(f".{target.name}.restored")
    aside.unlink(missing_ok=True)  # of a process that was killed here
    try:
        copy_file(db, aside)
        if folder:
            for cell, files in verified.artifacts.items():
                there = artifacts.intact(target.parent, *cell, files)
                for name, path in artifacts.intact(folder, *cell, files).items():
                    if name not in there:
                        to = artifacts.folder(target.parent, *cell)
                        to.mkdir(mode=0o700, parents=True, exist_ok=True)
                        write_file(to / name, path.read_bytes(), private=True)
            for job in sorted((folder / SHARDS).glob("[!.]*")):
                if not (target.parent / SHARDS / job.name).exists():
                    replace_folder(job, target.parent / SHARDS / job.name)
        put_in_place(aside, target)
        for log in ("-wal", "-journal", "-shm"):  # after a kill before this, ``check_log`` refuses them
            target.with_name(target.name + log).unlink(missing_ok=True)
    finally:
        aside.unlink(missing_ok=True)


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"
