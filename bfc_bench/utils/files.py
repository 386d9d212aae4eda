"""Files that are written whole or not at all: aside, synced, then renamed into place; and the folder for caches."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bfc_bench.errors import OutputError


def write_file(
    path: Path, content: bytes | memoryview | Iterable[bytes | memoryview], *, private: bool = False
) -> None:
    """Put ``content`` where ``path`` is: whoever looks, and whatever happens, finds all of it or what was there before.

    It may come in parts, which are written as they come. A file that exists keeps its mode. A new one can be read by
    those who can read its folder, or, where it is ``private``, by its owner alone. Raises ``OutputError``.
    """
    path = Path(os.path.realpath(path))  # a link stays, and what it points at is written
    aside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.new")
    parts: Iterable[bytes | memoryview] = [content] if isinstance(content, bytes | memoryview) else content
    try:
        if path.exists() and not path.is_file():  # a pipe or a device has nothing that could be replaced
            with path.open("wb") as file:
                file.writelines(parts)
            return
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _mode(path, private)), "wb") as file:
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(aside, path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}. What was there before is as it was.") from None
    finally:
        with suppress(OSError):
            aside.unlink()


def cache_folder() -> Path:
    """The user's folder for what can be fetched or made again. Raises ``OutputError`` for a user without a home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bfc-bench"
    except RuntimeError:
        raise OutputError("This user has no home folder that could hold a cache: set XDG_CACHE_HOME to one.") from None


def put_in_place(aside: Path, path: Path) -> None:
    """Rename a file that is complete and synced, and sync the folder that names it."""
    os.replace(aside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def put_database_in_place(aside: Path, path: Path) -> None:
    """The same for a SQLite file: logs that a former one left beside ``path`` would be played into the new one."""
    for log in ("-journal", "-wal", "-shm"):
        path.with_name(path.name + log).unlink(missing_ok=True)
    put_in_place(aside, path)


def make_folder(path: Path, *, private: bool = False) -> None:
    """Make a folder and its parents; one that exists is left as it is. A ``private`` one is its owner's alone.

    Raises ``OutputError``.
    """
    try:
        path.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {path} cannot be made: {error.strerror}.") from None


def _mode(path: Path, private: bool) -> int:
    return 0o600 if private else path.parent.stat().st_mode & 0o666
