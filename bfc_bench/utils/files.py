"""Writes files atomically: to a temporary file, synced, then renamed. Also makes folders and finds the cache folder."""

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bfc_bench.errors import OutputError


def write_file(
    path: Path, content: bytes | memoryview | Iterable[bytes | memoryview], *, private: bool = False
) -> None:
    """Write a file atomically: a reader sees the old content or all of the new one, even after a crash.

    An existing file keeps its mode. A new one gets the read and write permissions of its folder.
    """
    path = Path(os.path.realpath(path))
    aside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.new")
    parts: Iterable[bytes | memoryview] = [content] if isinstance(content, bytes | memoryview) else content
    try:
        if path.exists() and not path.is_file():  # a pipe or a device cannot be replaced
            with path.open("wb") as file:
                file.writelines(parts)
            return
        mode = 0o600 if private else path.parent.stat().st_mode & 0o666
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(aside, path)
    except OSError as error:
        unchanged = " Its old content is unchanged." if os.path.lexists(path) else ""
        raise OutputError(f"{path} cannot be written: {error.strerror}.{unchanged}") from None
    finally:
        with suppress(OSError):
            aside.unlink()


def cache_folder() -> Path:
    """The user's folder for caches. Raises ``OutputError`` for a user without a home folder."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bfc-bench"
    except RuntimeError:
        raise OutputError("This user has no home folder that could hold a cache: set XDG_CACHE_HOME to one.") from None


def put_in_place(aside: Path, path: Path) -> None:
    """Rename a complete and synced file to ``path``, and sync its folder."""
    os.replace(aside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def put_database_in_place(aside: Path, path: Path) -> None:
    """``put_in_place`` for a SQLite file. Removes old logs beside ``path``, which SQLite would apply to the new one."""
    for log in ("-journal", "-wal", "-shm"):
        path.with_name(path.name + log).unlink(missing_ok=True)
    put_in_place(aside, path)


def make_folder(path: Path, *, private: bool = False) -> None:
    """Make a folder and its parents, if they do not exist. Only the owner can use a ``private`` one.

    Raises ``OutputError``.
    """
    try:
        path.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {path} cannot be made: {error.strerror}.") from None


def inside(folder: Path, *names: str) -> Path:
    """The file or folder ``names`` below ``folder``, with all links followed.

    Names may come from a store that another person made, and so may links in its folder.
    """
    try:
        root = Path(os.path.realpath(folder))
        path = Path(os.path.realpath(root.joinpath(*names)))
        usable = path != root and path.is_relative_to(root) and (not path.exists() or path.is_file() or path.is_dir())
    except (OSError, ValueError):  # a loop of links, a name that is too long, a NUL in a name
        usable = False
    if not usable:
        raise OutputError(
            f"{os.path.join(*names)!r} must be a file or folder in {folder}. It leads out of it, or is a pipe or a "
            "device. Remove it, or choose another folder."
        )
    return path
