"""Artifacts: small named files of a cell, such as pictures of features, in the folder of the store.

They lie in ``artifacts/<suite>@<version>/<cell>/`` and are written before the row that lists them with their digests.
Files that no row lists, for example those of a killed run, are ignored.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic_core import from_json

from bfc_bench.store.row import Row
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.names import is_name

MAX_BYTES = 4_000_000
"""Maximum size of all artifacts of a cell together."""
MAX_FILES = 100
"""Maximum number of artifacts of a cell."""
_CELL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_FIRST_BYTES = {".png": b"\x89PNG\r\n\x1a\n", ".npz": b"PK\x03\x04", ".csv": b"", ".json": b""}
"""First bytes of the files with each allowed ending."""


def checked(given: object) -> dict[str, bytes]:
    """The value of ``Predictor.artifacts``, checked. Raises ``ValueError`` if it cannot be stored."""
    if not isinstance(given, Mapping):
        raise ValueError(f"artifacts() must give a mapping of names to bytes. Got {type(given).__name__}")
    files: dict[str, bytes] = dict(given)
    if len(files) > MAX_FILES:
        raise ValueError(f"artifacts() must give at most {MAX_FILES} files. Got {len(files)}")
    for name, content in files.items():
        _check(name, content)
    if len({name.lower() for name in files}) < len(files):
        raise ValueError(f"names of artifacts must differ in more than case. Got {sorted(files)}")
    if (size := sum(map(len, files.values()))) > MAX_BYTES:
        raise ValueError(f"artifacts must take at most {MAX_BYTES / 1e6:g} MB together. Got {size / 1e6:.3g} MB")
    return files


def _check(name: object, content: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or Path(name).suffix not in _FIRST_BYTES:
        raise ValueError(
            "names of artifacts must have letters, digits, '.', '_' and '-' and end in "
            f"{', '.join(_FIRST_BYTES)}. Got {name!r:.200}"
        )
    if not isinstance(content, bytes):
        raise ValueError(f"artifact {name!r} must be bytes. Got {type(content).__name__}")
    if not _has_format(Path(name).suffix, content):
        raise ValueError(f"artifact {name!r} must have the format of its ending. Got {content[:8]!r}...")


def _has_format(ending: str, content: bytes) -> bool:
    try:
        if ending == ".csv":
            content.decode()
        if ending == ".json":
            from_json(content, allow_inf_nan=False)
    except ValueError:
        return False
    return content.startswith(_FIRST_BYTES[ending])


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """A hash of the content of each file, by name, as the row lists them."""
    return {name: _digest(content) for name, content in files.items()}


def folder(directory: Path, suite: str, version: int, cell: str) -> Path:
    """Folder of the artifacts of a cell."""
    return directory / "artifacts" / f"{suite}@{version}" / cell


def write(directory: Path, row: Row, files: Mapping[str, bytes]) -> None:
    """Write the artifacts of a row before the row is committed."""
    cell_folder = folder(directory, row.suite, row.suite_version, row.cell)
    make_folder(cell_folder, private=True)
    for name, content in files.items():
        write_file(cell_folder / name, content, private=True)


def remove_unlisted(directory: Path, rows: Iterable[Row]) -> None:
    """Remove the files that these committed rows do not list: those of replaced rows and of killed runs."""
    if not (directory / "artifacts").exists():
        return
    for row in rows:
        cell_folder = folder(directory, row.suite, row.suite_version, row.cell)
        with suppress(OSError):  # readers ignore files that remain
            for file in cell_folder.iterdir():
                if file.name not in row.artifacts:
                    file.unlink()
            if not row.artifacts:
                cell_folder.rmdir()


def intact(directory: Path, suite: str, version: int, cell: str, listed: Mapping[str, str]) -> dict[str, Path]:
    """Paths of the listed artifacts of a cell, by name, without those that are missing or changed."""
    cell_folder = folder(directory, suite, version, cell)
    if not (is_name(suite) and _CELL.fullmatch(cell) and is_own_folder(cell_folder, directory)):
        return {}
    paths = {}
    for name, digest in listed.items():
        with suppress(OSError, ValueError):
            content = _read_regular(cell_folder / name) if _NAME.fullmatch(name) else b""
            _check(name, content)
            if _digest(content) == digest:
                paths[name] = cell_folder / name
    return paths


def is_own_folder(folder: Path, directory: Path) -> bool:
    """Whether a folder lies where its path says inside a store's directory: no part of it is a symbolic link."""
    inside = folder.relative_to(directory)
    return folder.is_dir() and folder.resolve() == directory.resolve() / inside


def _read_regular(path: Path) -> bytes:
    """The content of a regular file. Raises ``OSError`` for a link, a pipe, a device, or more than ``MAX_BYTES``."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise OSError(f"{path} is no artifact")
        return file.read()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
