"""Artifacts: small named files of a cell, such as pictures of features, kept in the store's directory.

They lie in ``artifacts/<suite>@<version>/<cell>/`` and are written before the row that names them, with a digest of
what each holds. A file is believed only where a row says so: what a killed run has left is nobody's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic_core import from_json

from bfc_bench.store.row import Row
from bfc_bench.utils.files import make_folder, write_file

LARGEST = 4_000_000
"""Bytes of all artifacts of a cell."""
MOST = 100
"""Artifacts of a cell."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BEGINS = {".png": b"\x89PNG\r\n\x1a\n", ".npz": b"PK\x03\x04", ".csv": b"", ".json": b""}
"""How files of each ending begin."""


def checked(given: object) -> dict[str, bytes]:
    """What ``Predictor.artifacts`` gave. Raises ``ValueError`` for what cannot be kept."""
    if not isinstance(given, Mapping):
        raise ValueError(f"artifacts() must give a mapping of names to bytes. Got {type(given).__name__}")
    files: dict[str, bytes] = dict(given)
    if len(files) > MOST:
        raise ValueError(f"artifacts() must give at most {MOST} files. Got {len(files)}")
    for name, content in files.items():
        _check(name, content)
    if len({name.lower() for name in files}) < len(files):
        raise ValueError(f"names of artifacts must differ in more than case. Got {sorted(files)}")
    if (size := sum(map(len, files.values()))) > LARGEST:
        raise ValueError(f"artifacts must take at most {LARGEST / 1e6:g} MB together. Got {size / 1e6:.3g} MB")
    return files


def _check(name: object, content: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or Path(name).suffix not in _BEGINS:
        raise ValueError(
            "names of artifacts must have letters, digits, '.', '_' and '-' and end in "
            f"{', '.join(_BEGINS)}. Got {name!r:.200}"
        )
    if not isinstance(content, bytes):
        raise ValueError(f"artifact {name!r} must be bytes. Got {type(content).__name__}")
    if not _fits(Path(name).suffix, content):
        raise ValueError(f"artifact {name!r} must hold what its ending says. Got {content[:8]!r}...")


def _fits(kind: str, content: bytes) -> bool:
    try:
        if kind == ".csv":
            content.decode()
        if kind == ".json":
            from_json(content, allow_inf_nan=False)
    except ValueError:
        return False
    return content.startswith(_BEGINS[kind])


def digests(files: Mapping[str, bytes]) -> dict[str, str]:
    """By name, a hash of what each file holds: what a row says of its artifacts."""
    return {name: _digest(content) for name, content in files.items()}


def folder(directory: Path, suite: str, version: int, cell: str) -> Path:
    """Where the artifacts of a cell lie in a store's directory."""
    return directory / "artifacts" / f"{suite}@{version}" / cell


def keep(directory: Path, row: Row, files: Mapping[str, bytes]) -> None:
    """Write the artifacts of a row that is to be committed. Raises ``OutputError``."""
    place = folder(directory, row.suite, row.suite_version, row.cell)
    make_folder(place, private=True)
    for name, content in files.items():
        write_file(place / name, content, private=True)


def tidy(directory: Path, rows: Iterable[Row]) -> None:
    """Remove what committed rows do not name: artifacts of rows that they replaced, and halves of killed runs."""
    if not (directory / "artifacts").exists():
        return
    for row in rows:
        place = folder(directory, row.suite, row.suite_version, row.cell)
        with suppress(OSError):  # what is left is named by nobody
            for file in place.iterdir():
                if file.name not in row.artifacts:
                    file.unlink()
            if not row.artifacts:
                place.rmdir()


def intact(directory: Path, suite: str, version: int, cell: str, named: Mapping[str, str]) -> dict[str, Path]:
    """The files, by name, that hold what a row says of them; others are left out."""
    place = folder(directory, suite, version, cell)
    found = {}
    for name, digest in named.items():
        with suppress(OSError):
            if _NAME.fullmatch(name) and _digest((place / name).read_bytes()) == digest:
                found[name] = place / name
    return found


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
