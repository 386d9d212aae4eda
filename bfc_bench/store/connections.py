"""Connections to a store's file: to write it, to read it beside whoever writes, or to read a copy of a moment."""

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
from bfc_bench.store.schema import check_schema, create_tables
from bfc_bench.utils.files import put_database_in_place

NO_LOCKING = "&vfs=unix-none"
"""For SQLite, where there are no locks; who writes alone needs none, and others must not open the file."""
PATIENCE = 10.0
"""Seconds in which who reads where there are no locks must find a moment at which nobody writes."""


def connect_to_write(path: Path, place: FileSystem) -> sqlite3.Connection:
    """For whoever holds the store: its file, made if need be. Raises ``StoreError`` for another file."""
    if not path.exists() or path.stat().st_size == 0:
        _create(path, place)
    db = _connect(path, "rw", locks=place.locks)
    try:
        check_schema(db, path)
        _set_journal(db, place)
        db.execute("BEGIN IMMEDIATE")  # says now, not after the first cell, that the file cannot be written
        db.execute("ROLLBACK")
    except BaseException:
        db.close()
        raise
    return db


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A file that others may be writing. Raises ``StoreError`` where only a copy would do and none can be had."""
    if not file_system(path.parent).locks:
        return _connect_to_copy(path, PATIENCE)
    try:
        return _connect(path, "ro")
    except sqlite3.OperationalError as error:
        # A read-only directory has no room for the index of the log.
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    if len(_sizes(path)) == 1:
        return _connect(path, "ro", "&immutable=1")
    return _connect_to_copy(path)


def _create(path: Path, place: FileSystem) -> None:
    """Make the file aside, so that who reads meets none or a whole one."""
    aside = path.with_name(f".{path.name}.new")
    _remove(aside)  # left by one who was killed here
    os.close(os.open(aside, os.O_CREAT | os.O_WRONLY, 0o600))  # its log is made with the same mode
    with closing(_connect(aside, "rw", locks=place.locks)) as db:
        _set_journal(db, place)
        create_tables(db)
    put_database_in_place(aside, path)
    _remove(aside)


def _remove(aside: Path) -> None:
    """A file and its logs."""
    for left in aside.parent.glob(f"{aside.name}*"):
        left.unlink()


def _connect(path: Path, mode: str, extra: str = "", *, locks: bool = True) -> sqlite3.Connection:
    """A connection that has read from the file; without ``locks`` that of somebody who has it to himself."""
    uri = f"{path.absolute().as_uri()}?mode={mode}{extra}{'' if locks else NO_LOCKING}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    try:
        if not locks:  # before it is read: a log that was left needs no index in shared memory then
            db.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        db.close()
        raise
    return db


def _set_journal(db: sqlite3.Connection, place: FileSystem) -> None:
    """Where the index of a log cannot be shared, or locks are not to be had, the file has a journal in its place, which
    is synced at every commit."""
    if place.plain:
        db.execute("PRAGMA journal_mode = WAL").fetchone()
        return
    db.execute("PRAGMA journal_mode = TRUNCATE").fetchone()
    db.execute("PRAGMA locking_mode = NORMAL").fetchone()
    db.execute("PRAGMA synchronous = FULL")


def _connect_to_copy(path: Path, patience: float = 0.0) -> sqlite3.Connection:
    """The file and its log as they are at one moment, merged outside their directory, tried again for ``patience``
    seconds while somebody writes. The copy has no name: it goes with the connection."""
    deadline = time.monotonic() + patience
    while True:
        with TemporaryDirectory(prefix="bfc-bench-") as folder:
            before = _sizes(path)
            time.sleep(0.01 * bool(patience))  # whoever writes from now on leaves another time
            if before == _sizes(path):
                with suppress(FileNotFoundError):
                    copies = [Path(shutil.copyfile(file, Path(folder, file.name))) for file, *_ in before]
                    if _sizes(path) == before:
                        db = _connect(copies[0], "rw", locks=False)
                        _set_journal(db, FileSystem("", locks=False))
                        return db
        if time.monotonic() >= deadline:
            raise StoreError(f"{path} is being written from elsewhere and cannot be copied; read it there.")


def _sizes(path: Path) -> list[tuple[Path, int, int]]:
    """The file and the logs that hold something, with sizes and times."""
    files = [path, *(path.with_name(path.name + log) for log in ("-wal", "-journal"))]
    found = [(file, file.stat()) for file in files if file.exists()]
    return [(file, known.st_size, known.st_mtime_ns) for file, known in found if known.st_size or file == path]
