"""Artifacts: small named files of a cell, such as pictures of features, in the folder of the store.

They lie in ``artifacts/<suite>@<version>/<cell>/`` and are written before the row that lists them with their digests.
Files that no row lists, for example those of a killed run or of a replaced row, are ignored.
"""

import hashlib
import re
import stat
from collections.abc import Mapping
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


def checked_files(given: object) -> dict[str, bytes]:
    """The value of ``Predictor.artifacts``, checked. Raises ``ValueError`` if it cannot be stored."""
    if not isinstance(given, Mapping):
        raise ValueError(f"artifacts() must give a mapping of names to bytes. Got {type(given).__name__}")
    files: dict[str, bytes] = dict(given)
    if len(files) > MAX_FILES:
        raise ValueError(f"artifacts() must give at most {MAX_FILES} files. Got {len(files)}")
    for name, content in files.items():
        _check(name, content)
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


def intact(directory: Path, suite: str, version: int, cell: str, listed: Mapping[str, str]) -> dict[str, Path]:
    """Paths of the listed artifacts of a cell, by name, without those that are missing or changed."""
    cell_folder = folder(directory, suite, version, cell)
    if not (
        is_name(suite)
        and _CELL.fullmatch(cell)
        and cell_folder.resolve() == directory.resolve() / cell_folder.relative_to(directory)
    ):
        return {}
    paths = {name: cell_folder / name for name in listed if _NAME.fullmatch(name)}
    return {name: path for name, path in paths.items() if _is_intact(path, listed[name])}


def _is_intact(path: Path, digest: str) -> bool:
    """Whether a file is a regular one of an allowed format with this digest."""
    with suppress(OSError, ValueError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
            content = path.read_bytes()
            _check(path.name, content)
            return _digest(content) == digest
    return False


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
