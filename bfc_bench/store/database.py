"""The SQLite file of a store: opening, transactions, queries."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zipfile import is_zipfile

from bfc_bench.errors import StoreError, StoreFailure, StoreReplaced
from bfc_bench.store.connections import connect_to_read, connect_to_write
from bfc_bench.store.file_system import FileSystem
from bfc_bench.store.lock import IN_USE, lock_folder
from bfc_bench.store.schema import check_schema


class Database:
    """The SQLite file of a store, with one writer and any number of readers. A context manager."""

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        """Open the store in a folder; with ``write`` create it if it is missing, and lock it until it is closed.

        Raises ``StoreError`` if that is not possible, at once if another process has locked the store.
        """
        self.directory = Path(directory)
        self.path = self.directory / "results.sqlite"
        self._opened = ExitStack()
        if self.directory.is_file():
            bundle = f" `bfc-bench merge {self.directory} --into STORE` makes a store of a bundle."
            hint = bundle if is_zipfile(self.directory) else ""
            raise StoreError(f"--store must name the folder of a store. {self.directory} is a file.{hint}")
        try:
            with ExitStack() as opening:
                self._db = self._open_to_write(opening) if write else self._open_to_read(opening)
                check_schema(self._db, self.path)
                self._identity = _identity(self.path)
                self._opened = opening.pop_all()
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise StoreError(
                f"The store in {self.directory} cannot be {'written' if write else 'read'}: {_reason(error)}."
            ) from None

    def _open_to_write(self, opening: ExitStack) -> sqlite3.Connection:
        disk = opening.enter_context(lock_folder(self.directory))  # before the file is made: one process makes it
        if not disk.supports_wal:
            warnings.warn(_warning(self.directory, disk), stacklevel=4)
        return opening.enter_context(closing(connect_to_write(self.path, disk)))

    def _open_to_read(self, opening: ExitStack) -> sqlite3.Connection:
        if not self.path.exists():
            raise StoreError(
                f"There is no store in {self.directory}; `bfc-bench run SUITE --store {self.directory}` makes one."
            )
        return opening.enter_context(closing(connect_to_read(self.path)))

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection, which ``backup`` copies from."""
        return self._db

    def require_own_file(self) -> None:
        """Raise ``StoreReplaced`` if another file is at the place of the open one, or none.

        SQLite would go on writing to a file without a name.
        """
        if _identity(self.path) != self._identity:
            raise StoreReplaced(
                f"The store in {self.directory} was removed, or replaced by another file, while it was in use. Rows "
                "that were committed before are in the old file; what is at its place now is unchanged. Restore the "
                "store, then run the same command again."
            )

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: everything that is written inside the block is committed together, or nothing is."""
        self.require_own_file()
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
            raise self.write_error(error) from None

    def write_error(self, error: Exception) -> StoreFailure:
        """The exception to raise after an ``error`` in writing."""
        return StoreFailure(
            f"The store in {self.directory} cannot be written: {str(error).rstrip('.')}. Its rows stay readable. "
            "Free some space or choose another --store, then run the same command again."
        )

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All reads inside the block see the store at one moment, even if another process writes meanwhile."""
        self.read("BEGIN")
        try:
            yield
        finally:
            self.read("ROLLBACK")

    def stream(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Results of an SQL query, one by one. Raises ``StoreError`` if the file cannot be read."""
        try:
            yield from self._db.execute(query, values)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"The store in {self.directory} cannot be read: {error}.") from None

    def read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All results of an SQL query. Raises ``StoreError`` if the file cannot be read."""
        try:
            return self._db.execute(query, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"The store in {self.directory} cannot be read: {error}.") from None

    def close(self) -> None:
        """Close the file, which merges its write-ahead log, and unlock the store."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file; None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _reason(error: sqlite3.Error | OSError | UnicodeDecodeError) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _warning(directory: Path, disk: FileSystem) -> str:
    problem = f"on {disk.kind}, which machines share" if disk.shared else "on a file system without locks"
    readers = "" if disk.locks else ", readers see a copy"
    return (
        f"the store in {directory} lies {problem}: SQLite uses a rollback journal instead of a write-ahead log"
        f"{readers}, and the file {IN_USE!r} names the writer. A local disk is faster."
    )
