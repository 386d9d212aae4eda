"""Notices a log of SQLite (``-wal`` or ``-journal``) that belongs to another file than the one beside it.

A killed run leaves a log, which SQLite applies to the file of that name when it is opened next. If the file was
replaced by a copy meanwhile, the pages of the log hide those of the copy. SQLite cannot notice this, because neither
file names the other. Therefore each process that opens a store for writing gives the file a new random number
(``application_id`` in its header). It writes the number into ``results.sqlite-id``, together with the one before
until the new one is in the file. Copies that ``backup`` makes have the number 0. A log belongs to the file if the
file has a number of the list.

A copy of the bare file, made by ``cp`` during the same run, has the same number and is not noticed.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from bfc_bench.errors import StoreError
from bfc_bench.store.gate import require_regular_file
from bfc_bench.utils.files import put_in_place

NO_ID = 0
"""The number of a new file and of a backup."""
_LIST_BYTES = 1000


def check_log(path: Path) -> None:
    """Raise ``StoreError`` if the log beside a store's file is not empty and belongs to another file."""
    logs = [log for log in (path.with_name(path.name + end) for end in ("-wal", "-journal")) if _size(log)]
    while logs and (known := _listed(path)):
        number = _number(path)
        if number is None or number in known:
            return
        if _listed(path) == known:  # else a writer was just giving the file a new number
            raise StoreError(
                f"{logs[0]} was left by a killed run and belongs to another {path.name} than the one there: "
                "its rows would hide those of the file. Run `bfc-bench restore BACKUP --store "
                f"{path.parent}`, or remove {logs[0].name} to read the file as it is."
            )


def renew_id(db: sqlite3.Connection, path: Path) -> None:
    """Give a file that is open for writing a new number. A process that is killed meanwhile leaves a list that fits.

    Args:
        db: The connection that writes.
        path: The store's file.

    Raises:
        OSError: The list of numbers cannot be written.
    """
    before = int(db.execute("PRAGMA application_id").fetchone()[0])
    number = secrets.randbelow(2**31 - 1) + 1
    _write(path, {*_listed(path), before, number})
    db.execute(f"PRAGMA application_id = {number}")
    _, pages, merged = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages == merged:  # the file itself has the number; else a reader still needs the pages before
        _write(path, {number})


def _write(path: Path, numbers: set[int]) -> None:
    aside = _list(path).with_name(f".{_list(path).name}.new")  # one name, as only one process writes to the store
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(" ".join(map(str, sorted(numbers))).encode())
        file.flush()
        os.fsync(file.fileno())
    put_in_place(aside, _list(path))


def _listed(path: Path) -> set[int]:
    """The numbers in the list; empty if there is no list or none can be read."""
    try:
        with os.fdopen(os.open(_list(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return {int(number) for number in file.read(_LIST_BYTES).split()}
    except (OSError, ValueError):
        return set()


def _list(path: Path) -> Path:
    return path.with_name(f"{path.name}-id")


def _number(path: Path) -> int | None:
    """The number in the file itself, without its log; None if the file cannot be read.

    SQLite reads it, because closing a file that this process opened itself would release SQLite's locks on it. Raises
    ``StoreError`` for a pipe, a device or a folder.
    """
    try:
        require_regular_file(path)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return int(db.execute("PRAGMA application_id").fetchone()[0])
    except (sqlite3.Error, FileNotFoundError):
        return None


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
