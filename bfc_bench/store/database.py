"""The SQLite file of a store: opening, transactions, queries."""

import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from bfc_bench.errors import StoreError, StoreFailure
from bfc_bench.store.file_system import SHARED, file_system
from bfc_bench.store.lock import lock_folder
from bfc_bench.store.schema import check_schema, create_tables
from bfc_bench.utils.files import put_database_in_place

RECORD_BYTES = 32_000_000
"""Maximum size of any value in the file."""
T = TypeVar("T")


class Database:
    """The SQLite file of a store, with one writer and any number of readers."""

    def __init__(self, directory: Path, *, write: bool = False) -> None:
        """Open the store in a folder; with ``write`` create it if it is missing, and lock it until it is closed.

        Raises ``StoreError`` if that is not possible, at once if another process has locked the store.
        """
        self.directory = Path(directory)
        self.path = self.directory / "results.sqlite"
        self._opened = ExitStack()
        self._last: dict[object, tuple[object, Any]] = {}
        """By function, the last result of ``once``, after its arguments and the state of the file."""
        if self.directory.is_file():
            merge = f" `bfc-bench merge {self.directory} --into DIR` makes a store of a bundle."
            more = merge if self.directory.suffix == ".zip" else ""
            raise StoreError(f"--store must name the folder of a store. {self.directory} is a file.{more}")
        try:
            with ExitStack() as opening:
                self.connection = self._open_to_write(opening) if write else self._open_to_read(opening)
                self._opened = opening.pop_all()
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise StoreError(
                f"The store in {self.directory} cannot be {'written' if write else 'read'}: {reason}."
            ) from None

    def _open_to_write(self, opening: ExitStack) -> sqlite3.Connection:
        opening.enter_context(lock_folder(self.directory))
        if not self.path.exists():
            _make(self.path)
        db = opening.enter_context(closing(_connect(self.path, "rw")))
        self._set_journal(db)
        db.execute("BEGIN IMMEDIATE")  # fails now, not after the first cell, if the file cannot be written
        db.execute("ROLLBACK")
        return db

    def _set_journal(self, db: sqlite3.Connection) -> None:
        """Use a write-ahead log where it works, else a rollback journal that is synced at every commit."""
        if (kind := file_system(self.directory)) not in SHARED:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        db.execute("PRAGMA journal_mode = TRUNCATE").fetchone()
        db.execute("PRAGMA synchronous = FULL")
        warnings.warn(
            f"the store in {self.directory} lies on {kind}, which machines share: SQLite uses a rollback journal "
            "instead of a write-ahead log. A local disk is faster.",
            stacklevel=5,
        )

    def _open_to_read(self, opening: ExitStack) -> sqlite3.Connection:
        if not self.path.exists():
            raise StoreError(
                f"There is no store in {self.directory}; `bfc-bench run SUITE --store {self.directory}` makes one."
            )
        try:
            return opening.enter_context(closing(_connect(self.path, "ro")))
        except sqlite3.OperationalError:
            # In a read-only folder SQLite cannot make the index of the write-ahead log. An empty log needs none.
            log = self.path.with_name(f"{self.path.name}-wal")
            if os.access(self.directory, os.W_OK) or (log.exists() and log.stat().st_size):
                raise
            return opening.enter_context(closing(_connect(self.path, "ro", "&immutable=1")))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: everything that is written inside the block is committed together, or nothing is."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException as error:
            if self.connection.in_transaction:  # SQLite has ended it if the disk is full
                self.connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self.write_error(error) from None
            raise

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
            yield from self.connection.execute(query, values)
        except sqlite3.ProgrammingError:
            raise StoreError(f"The store in {self.directory} is closed; `open_store` opens it again.") from None
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"The store in {self.directory} cannot be read: {str(error).rstrip('.')}.") from None

    def read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """All results of an SQL query. Raises ``StoreError`` if the file cannot be read."""
        return list(self.stream(query, values))

    def once(self, read: Callable[..., T], *arguments: object) -> T:
        """``read(*arguments)``, or its last result if it had these arguments and the file has not changed since."""
        by_others = self.read("PRAGMA data_version")  # changes when another connection writes
        request = (*arguments, by_others, self.connection.total_changes)
        if read not in self._last or self._last[read][0] != request:
            self._last.pop(read, None)
            self._last[read] = request, read(*arguments)
        result: T = self._last[read][1]
        return result

    def unreadable(self, record: str, error: Exception) -> StoreError:
        """The exception to raise for a record that no release of this program could have written."""
        return StoreError(
            f"The store in {self.directory} cannot be read: {record} is not one that bfc-bench wrote: {error}. Use a "
            "backup, or another --store."
        )

    def close(self) -> None:
        """Close the file, which merges its write-ahead log, and unlock the store."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _make(path: Path) -> None:
    """Make a store's file, which appears under its name when it has its tables. SQLite gives its log the same mode."""
    aside = path.with_name(f".{path.name}.new")
    os.close(os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(aside)) as db:
        create_tables(db)
    put_database_in_place(aside, path)


def _connect(path: Path, mode: str, extra: str = "") -> sqlite3.Connection:
    """A connection to a file with the schema of a store, that runs nothing which the schema names."""
    uri = f"{path.absolute().as_uri()}?mode={mode}{extra}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, RECORD_BYTES)
        db.execute("PRAGMA synchronous = NORMAL")
        check_schema(db, path)
    except BaseException:
        db.close()
        raise
    return db
