"""Makes a consistent copy of a store, even while a run writes to it. Also copies and replaces folders atomically."""

from __future__ import annotations

import glob
import os
import platform
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from bfc_bench.errors import OutputError, StoreError
from bfc_bench.store.log_identity import NO_ID
from bfc_bench.store.store import Store
from bfc_bench.utils.plain_json import digest
from bfc_bench.utils.process_liveness import process_start

ARTIFACTS, SHARDS = "artifacts", "shards"
"""Folders of a store that a backup copies, because they cannot be made again from the rows."""


def backup(directory: Path, to: Path) -> int:
    """Copy a store into the new folder ``to`` and return the number of its rows.

    SQLite's online backup copies the rows of one moment without delaying a writer. Artifacts and the files of shards
    are copied too. Reports and MLflow's database are not, because ``report`` and ``sync`` make them again. The copy
    appears under its name when it is complete.

    Raises ``StoreError`` if the store cannot be read or ``to`` exists, ``OutputError`` if the copy cannot be written.
    """
    with Store(directory) as store, new_folder(to) as temporary:
        # In this order, rows that are collected from shards meanwhile are in one of the copies at least, and every
        # copied row has its artifacts, which are written before it.
        copy_tree(store.directory / SHARDS, temporary / SHARDS)
        rows = copy_file(store.connection, temporary / store.path.name)
        copy_tree(store.directory / ARTIFACTS, temporary / ARTIFACTS)
    return rows


def copy_file(db: sqlite3.Connection, path: Path) -> int:
    """Copy the open file of a store to a new, synced file and return the number of its rows. Raises ``OutputError``.

    The copy needs no log, and a log that belongs to the store does not belong to it (``log_identity``).
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            db.backup(copy)  # all pages in one step, since a write between steps would restart it
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            copy.execute(f"PRAGMA application_id = {NO_ID}")
            rows = int(copy.execute("SELECT count(*) FROM rows").fetchone()[0])
        _sync(path)
    except sqlite3.Error as error:
        raise OutputError(f"{path} cannot be written: {error}.") from None
    return rows


def copy_tree(source: Path, to: Path) -> None:
    """Copy a folder without hidden files, which are temporary, and without files that vanish meanwhile."""
    for folder, subfolders, names in os.walk(source):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        target = to / Path(folder).relative_to(source)
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            if not name.startswith("."):
                with suppress(FileNotFoundError):
                    shutil.copy2(Path(folder, name), target / name)


def replace_folder(source: Path, to: Path) -> None:
    """Copy a folder to ``to``, replacing the folder there once the copy is complete. Raises ``OutputError``."""
    temporary = to.with_name(f".{to.name}.new")
    try:
        to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.copytree(source, temporary)
        shutil.rmtree(to, ignore_errors=True)
        temporary.rename(to)
    except OSError as error:
        raise OutputError(f"{to} cannot be written: {error.strerror or error}.") from None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary private folder, which is renamed to ``path`` at the end of the block if there was no error.

    Raises ``StoreError`` if ``path`` exists and is not an empty folder, ``OutputError`` if it cannot be made.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise StoreError(f"{path} exists. Name a folder that does not exist; it will be made.")
    start = f".{path.name[:150]}."
    _remove_left(path.parent, start)
    temporary = path.with_name(f"{start}{_process(os.getpid())}.{secrets.token_hex(4)}.new")
    try:
        temporary.mkdir(mode=0o700, parents=True)
        yield temporary
        _sync_tree(temporary)
        os.replace(temporary, path)
        _sync(path.parent)
    except OSError as error:
        raise OutputError(f"{path} cannot be made: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _process(pid: int) -> str:
    """A process in the name of a folder: machine, number, and when it began, since numbers are used again."""
    return f"{digest(platform.node(), 4)}-{pid}-{digest(process_start(pid), 4)}"


def _remove_left(parent: Path, start: str) -> None:
    """Remove the folders that processes of this machine left when they were killed."""
    if not process_start(os.getpid()):  # the platform does not say which processes are alive
        return
    for left in parent.glob(f"{glob.escape(start)}*.new"):
        process = left.name.removeprefix(start).partition(".")[0]
        host, _, rest = process.partition("-")
        pid = rest.partition("-")[0]
        if host == digest(platform.node(), 4) and pid.isdigit() and process != _process(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _sync_tree(folder: Path) -> None:
    for subfolder, _, names in os.walk(folder):
        for name in names:
            _sync(Path(subfolder, name))
        _sync(Path(subfolder))


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
