"""MLflow's database on this machine: made aside, and renamed once its first migration is complete.

A migration takes seconds and is no transaction: MLflow can do nothing with a file that was killed in it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote

from bfc_bench.utils.files import make_folder, put_database_in_place


def database_uri(store_dir: Path) -> str:
    """The address of the SQLite database of a store directory."""
    return _uri(store_dir.resolve() / "mlflow.db")


def database_file(uri: str) -> Path | None:
    """The file of a SQLite address; None for any other address."""
    scheme, _, rest = uri.partition(":///")
    path = unquote(rest.partition("?")[0])
    return Path(path) if scheme.partition("+")[0] == "sqlite" and path else None


def make_database(file: Path) -> None:
    """Make MLflow's database where there is none, or one whose first migration was never completed."""
    if _is_whole(file):
        return
    make_folder(file.parent, private=True)
    with _alone(file.parent):
        if _is_whole(file):
            return
        aside = file.with_name(f".{file.name}.new")
        for left in file.parent.glob(f"{aside.name}*"):
            left.unlink()
        os.close(os.open(aside, os.O_CREAT | os.O_WRONLY, 0o600))
        _migrate(aside)
        put_database_in_place(aside, file)


def _uri(file: Path) -> str:
    quoted = str(file).replace("%", "%25").replace("?", "%3F")
    # MLflow makes the folder that it reads from an address without a driver, as it is quoted.
    return f"sqlite:///{file}" if quoted == str(file) else f"sqlite+pysqlite:///{quoted}"


def _migrate(file: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    SqlAlchemyStore(_uri(file.resolve()), (file.parent.resolve() / "mlflow-artifacts").as_uri()).engine.dispose()


def _is_whole(file: Path) -> bool:
    """Whether a file is as MLflow would make it, or holds what was logged by whatever release of MLflow."""
    from mlflow.store.db.utils import _get_latest_schema_revision

    logged = _ask(file, "SELECT EXISTS (SELECT 1 FROM runs) OR (SELECT count(*) FROM experiments) > 1")
    return bool(logged) or _ask(file, "SELECT version_num FROM alembic_version") == _get_latest_schema_revision()


def _ask(file: Path, query: str) -> object:
    """The only value that a query finds, after what a killed writer left is rolled back; None where there is none."""
    if not file.exists():
        return None
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as db:
        try:
            found = db.execute(query).fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            return None  # no such table
        return found[0] if found else None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
