"""Opens SQLite connections to a store's file: for writing, for reading beside a writer, or to a consistent copy."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from bfc_bench.errors import StoreError
from bfc_bench.store.file_system import FileSystem, file_system
from bfc_bench.store.gate import harden, require_regular_file
from bfc_bench.store.log_identity import check_log, renew_id
from bfc_bench.store.schema import check_schema, create_tables
from bfc_bench.utils.files import put_database_in_place

NO_LOCKING = "&vfs=unix-none"
"""Part of SQLite's URI on file systems without locks: the only writer needs none, and others must not open the file."""
PATIENCE = 10.0
"""Seconds within which a reader on a file system without locks must find the file unchanged for a copy."""


def connect_to_write(path: Path, disk: FileSystem) -> sqlite3.Connection:
    """Open the file for the process that has locked the store; a missing file is made.

    Raises ``StoreError`` if it is not a store's file, or the log beside it is not its own.
    """
    if not path.exists() or path.stat().st_size == 0:
        _create(path, disk)
    check_log(path)
    db = _connect(path, "rw", locks=disk.locks)
    try:
        check_schema(db, path)
        _set_journal(db, disk)
        db.execute("BEGIN IMMEDIATE")  # fails now, not after the first cell, if the file cannot be written
        db.execute("ROLLBACK")
        renew_id(db, path)
    except BaseException:
        db.close()
        raise
    return db


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a file that another process may be writing, or a copy of it.

    Raises ``StoreError`` if a copy is needed and cannot be made, or the log beside the file is not its own.
    """
    check_log(path)
    if not file_system(path.parent).locks:
        return _connect_to_copy(path, PATIENCE)
    try:
        return _connect(path, "ro")
    except sqlite3.OperationalError as error:
        # In a read-only folder SQLite cannot make the index of the write-ahead log.
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    if len(_file_states(path)) == 1:
        return connect_without_log(path)
    return _connect_to_copy(path)


def connect_without_log(path: Path) -> sqlite3.Connection:
    """Open the file alone, which no process is writing, as if there were no log beside it."""
    return _connect(path, "ro", "&immutable=1")


def _create(path: Path, disk: FileSystem) -> None:
    """Make the file under a temporary name, so that readers see no file or a complete one."""
    temporary = path.with_name(f".{path.name}.new")
    _remove_with_logs(temporary)  # of a process that was killed here
    os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY, 0o600))  # SQLite gives its log the same mode
    with closing(_connect(temporary, "rw", locks=disk.locks)) as db:
        _set_journal(db, disk)
        create_tables(db)
    put_database_in_place(temporary, path)
    _remove_with_logs(temporary)


def _remove_with_logs(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def _connect(path: Path, mode: str, extra: str = "", *, locks: bool = True) -> sqlite3.Connection:
    """A connection that has read from the file; without ``locks``, one that uses the file exclusively."""
    uri = f"{path.absolute().as_uri()}?mode={mode}{extra}{'' if locks else NO_LOCKING}"
    require_regular_file(path)
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    db.text_factory = _text
    try:
        harden(db)
        if not locks:  # before the first read, so that a log from before needs no index in shared memory
            db.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _text(content: bytes) -> str:
    """A text of the file. Damaged bytes become U+FFFD, so that the digest of their row differs and others are read."""
    return content.decode(errors="replace")


def _set_journal(db: sqlite3.Connection, disk: FileSystem) -> None:
    """Use a write-ahead log where it works, else a rollback journal that is synced at every commit."""
    if disk.supports_wal:
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        return
    db.execute("PRAGMA journal_mode = TRUNCATE").fetchone()
    db.execute("PRAGMA locking_mode = NORMAL").fetchone()
    db.execute("PRAGMA synchronous = FULL")


def _connect_to_copy(path: Path, patience: float = 0.0) -> sqlite3.Connection:
    """Copy the file and its log while nothing changes them, and merge them in the copy, which ends with the connection.

    Tries again for ``patience`` seconds while another process is writing.
    """
    deadline = time.monotonic() + patience
    while True:
        with TemporaryDirectory(prefix="bfc-bench-") as folder:
            before = _file_states(path)
            time.sleep(0.01 * bool(patience))  # so that a write from now on changes the modification time
            if before == _file_states(path):
                with suppress(FileNotFoundError):
                    copies = [Path(shutil.copyfile(file, Path(folder, file.name))) for file, *_ in before]
                    if _file_states(path) == before:
                        db = _connect(copies[0], "rw", locks=False)
                        _set_journal(db, FileSystem("", locks=False))
                        return db
        if time.monotonic() >= deadline:
            raise StoreError(
                f"{path} cannot be copied, because another machine or process is writing it. Read it on the machine "
                "that writes, or try again later."
            )


def _file_states(path: Path) -> list[tuple[Path, int, int]]:
    """The file and its logs that are not empty, each with its size and modification time."""
    files = [path, *(path.with_name(path.name + log) for log in ("-wal", "-journal"))]
    states = [(file, file.stat()) for file in files if file.exists()]
    return [(file, state.st_size, state.st_mtime_ns) for file, state in states if state.st_size or file == path]
