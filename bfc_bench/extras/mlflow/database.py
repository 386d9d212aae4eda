"""Makes MLflow's database in a store under a temporary name, and renames it when its first migration is complete.

A migration takes seconds and is not a transaction: MLflow cannot use a file whose migration was killed.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def artifact_root(store_dir: Path) -> str:
    """URI of the artifacts of the database in a store directory."""
    return (store_dir.resolve() / "mlflow-artifacts").as_uri()


def make_database(file: Path) -> None:
    """Make MLflow's database if it is missing."""
    if file.exists():
        return
    make_folder(file.parent, private=True)
    with _locked(file.parent):
        if file.exists():
            return
        temporary = file.with_name(f".{file.name}.new")
        for leftover in file.parent.glob(f"{temporary.name}*"):
            leftover.unlink()
        os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY, 0o600))
        create_database(_uri(temporary.resolve()), artifact_root(file.parent))
        put_database_in_place(temporary, file)


def create_database(uri: str, artifact_root: str) -> None:
    """Make MLflow's tables in an empty SQLite file. If MLflow has moved this, it makes them when it opens the file."""
    with suppress(ImportError, AttributeError, TypeError):
        from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

        SqlAlchemyStore(uri, artifact_root).engine.dispose()


def _uri(file: Path) -> str:
    quoted = str(file).replace("%", "%25").replace("?", "%3F")
    # With a driver in the address, MLflow does not make a folder with the quoted name.
    return f"sqlite:///{file}" if quoted == str(file) else f"sqlite+pysqlite:///{quoted}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
