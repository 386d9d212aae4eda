"""Copies a store, even while a run writes to it. Also makes folders in one step."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkdtemp

from bfc_bench.errors import OutputError, StoreError
from bfc_bench.store.store import Store

ARTIFACTS = "artifacts"
"""Folder of a store that a copy has too, because its files cannot be made again from the rows."""


def backup(directory: Path, to: Path) -> int:
    """Copy a store into the new folder ``to`` and return the number of its rows.

    SQLite's online backup copies the rows of one moment without delaying a writer. Reports and MLflow's database are
    not copied, because ``report`` and ``sync`` make them again. The copy appears under its name when it is complete.

    Raises ``StoreError`` if the store cannot be read or ``to`` exists, ``OutputError`` if the copy cannot be written.
    """
    with Store(directory) as store, new_folder(to) as temporary:
        rows = _copy_file(store.connection, temporary / store.path.name)
        if (artifacts := store.directory / ARTIFACTS).exists():  # after the rows, since they are written before them
            shutil.copytree(artifacts, temporary / ARTIFACTS, ignore=shutil.ignore_patterns(".*"))
    return rows


def _copy_file(db: sqlite3.Connection, path: Path) -> int:
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(path, isolation_level=None)) as copy:
            db.backup(copy)  # all pages in one step, since a write between steps would restart it
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            return int(copy.execute("SELECT count(*) FROM rows").fetchone()[0])
    except sqlite3.Error as error:
        raise OutputError(f"{path} cannot be written: {error}.") from None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary private folder, which is renamed to ``path`` at the end of the block if there was no error.

    Raises ``StoreError`` if ``path`` exists and is not an empty folder, ``OutputError`` if it cannot be made.
    """
    path = Path(os.path.abspath(path))
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise StoreError(f"{path} exists. Name a folder that does not exist; it will be made.")
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(mkdtemp(prefix=f".{path.name[:150]}.", suffix=".new", dir=path.parent))
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be made: {error.strerror or error}.") from None
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
