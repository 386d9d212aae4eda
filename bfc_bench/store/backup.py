"""A copy of a store as it is at one moment, made while it may be written."""

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
from bfc_bench.store.store import Store
from bfc_bench.utils.plain_json import digest
from bfc_bench.utils.process_liveness import process_start

ARTIFACTS, SHARDS = "artifacts", "shards"
"""Folders of a store that cannot be made again from its rows, as reports and what MLflow shows can."""


def backup(directory: Path, to: Path) -> int:
    """Copy a store into the new folder ``to``, and return the number of its rows.

    The rows are those of one moment, by SQLite's own online backup: who writes meanwhile is not held up, and nothing of
    a transaction is there in part. Artifacts and the files of shards come along; reports and MLflow's database do not,
    since ``report`` and ``sync`` make them again. The copy is made aside and renamed: it is there whole or not at all.
    Raises ``StoreError`` for a store that cannot be read or a ``to`` that exists, ``OutputError`` where it cannot be
    written.
    """
    with Store(directory) as store, whole_folder(to) as aside:
        # What is collected from shards meanwhile is in both then, and artifacts lie there before their row does.
        copy_tree(store.directory / SHARDS, aside / SHARDS)
        rows = copy_database(store, aside / store.path.name)
        copy_tree(store.directory / ARTIFACTS, aside / ARTIFACTS)
    return rows


def copy_database(store: Store, path: Path) -> int:
    """The store's file as it is now, at a new ``path``; the number of rows in it. Raises ``OutputError``."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            store.connection.backup(copy)  # in one step: nobody's writing makes it begin again
            return int(copy.execute("SELECT count(*) FROM rows").fetchone()[0])
    except sqlite3.Error as error:
        raise OutputError(f"{path} cannot be written: {error}.") from None


def copy_tree(source: Path, to: Path) -> None:
    """A folder with all that is in it, but for what is being written aside, or vanishes meanwhile."""
    for place, folders, names in os.walk(source):
        folders[:] = [name for name in folders if not name.startswith(".")]
        here = to / Path(place).relative_to(source)
        here.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            if not name.startswith("."):
                with suppress(FileNotFoundError):
                    shutil.copy2(Path(place, name), here / name)


def put_folder(source: Path, to: Path) -> None:
    """Copy a folder to where there may be another one, which it replaces, aside first. Raises ``OutputError``."""
    aside = to.with_name(f".{to.name}.new")
    try:
        to.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(source, aside)
        shutil.rmtree(to, ignore_errors=True)
        aside.rename(to)
    except OSError as error:
        raise OutputError(f"{to} cannot be written: {error.strerror or error}.") from None


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder beside the new ``path`` that gets its name when all has gone well; its owner's alone.

    Raises ``StoreError`` where ``path`` exists and is no empty folder, ``OutputError`` where it cannot be made.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise StoreError(f"{path} exists: name a folder that does not, which will be made.")
    start = f".{path.name[:150]}."
    _remove_left(path.parent, start)
    aside = path.with_name(f"{start}{_process(os.getpid())}.{secrets.token_hex(4)}.new")
    try:
        aside.mkdir(mode=0o700, parents=True)
        yield aside
        _sync_tree(aside)
        os.replace(aside, path)
        _sync(path.parent)
    except OSError as error:
        raise OutputError(f"{path} cannot be made: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


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
    for place, _, names in os.walk(folder):
        for name in names:
            _sync(Path(place, name))
        _sync(Path(place))


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
