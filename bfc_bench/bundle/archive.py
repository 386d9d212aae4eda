"""Writes and reads a bundle, a zip file or a folder. What is read may come from another person and is checked here."""

from __future__ import annotations

import io
import os
import re
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO, Self

from pydantic_core import from_json

from bfc_bench.errors import OutputError, StoreError
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.names import is_name
from bfc_bench.utils.plain_json import readable_json

FORMAT = 1
MANIFEST = "manifest.json"
TOP = (MANIFEST, "ro-crate-metadata.json", "croissant.json", "CITATION.cff", ".zenodo.json", "environment.json")
"""Files about the whole bundle. Bundles of earlier releases have no croissant.json."""
ROWS, SUITE, RUNS, LOOKS, CLAIMS = "rows.parquet", "suite.json", "runs.json", "looks.json", "claims.json"
"""Files of a suite."""
_FIGURE = re.compile(r"figures/[A-Za-z0-9][A-Za-z0-9._@+-]{0,199}\.(svg|png)")
MOST_FILES = 20_000
"""Maximum number of files in a bundle."""
MOST_BYTES = 2_000_000_000
"""Maximum size of a bundle, and of all its files when they are unpacked."""
JSON_BYTES = 200_000_000
"""Maximum size of a JSON file of a bundle."""
SUFFIX = ".zip"
"""The end of the name of a bundle that is a zip file."""
_MERGE_MARK = re.compile(rb"^<{7} ", re.MULTILINE)
_END = b"PK\x05\x06"
_END_SIZE = 22
_LARGE_ARCHIVE = b"PK\x06\x07"
_DIRECTORY_BYTES = 500 * MOST_FILES


def folder_of(suite: str, version: int) -> str:
    """The folder of a suite in a bundle."""
    return f"suites/{suite}@{version}"


def write_archive(to: Path, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> str:
    """Write a bundle with a manifest; equal contents give equal bytes, because names are sorted and times are fixed.

    Args:
        to: The file; a folder, which is replaced, if its name does not end in ``SUFFIX``.
        files: Contents by name.
        facts: What the manifest says beside the digests of the files.

    Returns:
        The digest of the bundle: SHA-256 of its manifest, in hexadecimal digits.

    Raises:
        OutputError: The file cannot be written, or the folder holds something other than a bundle.
    """
    listed = {name: {"bytes": len(files[name]), "sha256": sha256(files[name]).hexdigest()} for name in sorted(files)}
    manifest = readable_json({"format": FORMAT, **facts, "files": listed})
    if to.suffix != SUFFIX:
        _write_folder(to, {**files, MANIFEST: manifest})
        return sha256(manifest).hexdigest()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in sorted({**files, MANIFEST: manifest}.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(ROWS) else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)
    write_file(to, buffer.getbuffer())
    return sha256(manifest).hexdigest()


def is_bundle(path: Path) -> bool:
    """Whether a path looks like a bundle: a zip file, or a folder with a manifest."""
    return path.is_file() if path.suffix == SUFFIX else (path / MANIFEST).is_file()


def _write_folder(to: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a bundle in place of those of an earlier one, the manifest last."""
    if to.exists() and not (is_bundle(to) or (to.is_dir() and not any(to.iterdir()))):
        raise OutputError(f"{to} must be a new or empty folder, or one with a bundle. Choose another one.")
    (to / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(to / "suites", ignore_errors=True)
    for name in sorted(files, key=lambda name: (name == MANIFEST, name)):
        make_folder((to / name).parent)
        write_file(to / name, files[name])


class Archive:
    """A bundle that is open for reading: a context manager.

    Files are read one at a time, and each must have the size and the SHA-256 that the manifest states. Raises
    ``StoreError``, in one line, for what is not a bundle: other names or types of files than a bundle has, too many or
    too large ones, and files that differ from the manifest.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip = _Folder(path) if path.is_dir() else _open(path)
        try:
            self._entries = self._checked_entries()
            text = self._content(MANIFEST, JSON_BYTES)
            self.digest = sha256(text).hexdigest()
            self.manifest = self._checked_manifest(text)
        except BaseException:
            self._zip.close()
            raise

    @property
    def suites(self) -> list[tuple[str, int]]:
        """Name and version of each suite."""
        return [(suite["name"], suite["version"]) for suite in self.manifest["suites"]]

    def read(self, name: str) -> bytes:
        """The content of a file."""
        if (listed := self.manifest["files"].get(name)) is None:
            raise self._error(f"it has no {name}")
        content = self._content(name, listed["bytes"])
        if len(content) != listed["bytes"] or sha256(content).hexdigest() != listed["sha256"]:
            raise self._error(f"{name} is not the file that the manifest describes: its SHA-256 differs")
        return content

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Name and content of every file, the manifest last."""
        for name in self.manifest["files"]:
            yield name, self.read(name)
        yield MANIFEST, self._content(MANIFEST, JSON_BYTES)

    def read_json(self, name: str) -> Any:
        """The value in a JSON file, whose numbers are all finite."""
        if self.manifest["files"].get(name, {"bytes": 0})["bytes"] > JSON_BYTES:
            raise self._error(f"{name} is larger than {JSON_BYTES:,} bytes")
        return self._json(name, self.read(name))

    def _json(self, name: str, content: bytes) -> Any:
        try:
            return from_json(content, allow_inf_nan=False)
        except ValueError as error:
            if _MERGE_MARK.search(content):
                raise self._error(
                    f"{name} holds git's marks of a conflict, since two branches changed this bundle. Take all of its "
                    "files from one of them (git checkout --ours or --theirs FOLDER), and give the other results a "
                    "folder of their own"
                ) from None
            raise self._error(f"{name} is not JSON: {error}") from None

    def _content(self, name: str, most: int) -> bytes:
        try:
            with self._zip.open(self._entries[name]) as file:
                content = file.read(most + 1)
        except KeyError:
            raise self._error(f"it has no {name}") from None
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise self._error(f"{name} cannot be read: {error}") from None
        except Exception as error:  # zlib.error, which has no common class with the others
            raise self._error(f"{name} cannot be unpacked: {error}") from None
        if len(content) > most:
            raise self._error(f"{name} has more than the {most:,} bytes that are allowed or that the manifest states")
        return content

    def _checked_entries(self) -> dict[str, zipfile.ZipInfo]:
        entries: dict[str, zipfile.ZipInfo] = {}
        for entry in self._zip.infolist():
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if not _is_file_of_a_bundle(entry.filename):
                raise self._error(f"{entry.filename[:200]!r} is no file of a bundle")
            if entry.filename in entries:
                raise self._error(f"{entry.filename} is in it twice")
            if kind not in (0, stat.S_IFREG):
                raise self._error(f"{entry.filename} is a link or another special file")
            if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise self._error(f"{entry.filename} is encrypted or compressed by another method than a bundle uses")
            entries[entry.filename] = entry
        if (size := sum(entry.file_size for entry in entries.values())) > MOST_BYTES:
            raise self._error(f"its files have {size:,} bytes together; at most {MOST_BYTES:,} are unpacked")
        return entries

    def _checked_manifest(self, text: bytes) -> dict[str, Any]:
        manifest = self._json(MANIFEST, text)
        if not isinstance(manifest, dict) or not _is_manifest(manifest):
            raise self._error(f"{MANIFEST} is not that of a bundle of format {FORMAT}")
        if odd := sorted(manifest["files"].keys() ^ (self._entries.keys() - {MANIFEST})):
            raise self._error(f"{odd[0][:200]!r} is in the manifest or in the archive, and not in both")
        return manifest

    def _error(self, problem: str) -> StoreError:
        return StoreError(f"{self.path} is not a bundle that bfc-bench reads: {problem}.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()


class _Folder:
    """The files below a folder, read as ``zipfile.ZipFile`` reads them. No link is followed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def infolist(self) -> list[zipfile.ZipInfo]:
        found = []
        for file, status in self._files():
            entry = zipfile.ZipInfo(file.relative_to(self._path).as_posix())
            entry.file_size, entry.external_attr = status.st_size, status.st_mode << 16
            found.append(entry)
            if len(found) > MOST_FILES:
                raise StoreError(f"{self._path} has more than {MOST_FILES:,} files; a bundle has fewer.")
        return found

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder, folders, files in os.walk(self._path):
            for name in (*folders, *files):
                status = Path(folder, name).lstat()
                if not stat.S_ISDIR(status.st_mode):
                    yield Path(folder, name), status

    def open(self, entry: zipfile.ZipInfo) -> BinaryIO:
        return (self._path / entry.filename).open("rb")

    def close(self) -> None:
        pass


def _open(path: Path) -> zipfile.ZipFile:
    """A zip file, after a look at its end, because the whole directory is read when it is opened."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoreError(f"{path} is not a regular file.")
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(max(size - _END_SIZE - 20, 0))
            tail = file.read()
        end = tail[-_END_SIZE:]
        count, directory = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
        if size > MOST_BYTES:
            raise StoreError(f"{path} has {size:,} bytes; bundles of at most {MOST_BYTES:,} are read.")
        if end[:4] != _END or tail[:4] == _LARGE_ARCHIVE or count > MOST_FILES or directory > _DIRECTORY_BYTES:
            raise StoreError(
                f"{path} is not a bundle that bfc-bench reads: it must be a zip file of at most {MOST_FILES:,} files."
            )
        return zipfile.ZipFile(path)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise StoreError(f"{path} cannot be read as a zip file: {reason}.") from None


def _is_file_of_a_bundle(name: str) -> bool:
    if name in TOP:
        return True
    top, suite, *rest = [*PurePosixPath(name).parts, "", ""][: max(name.count("/") + 1, 2)]
    suite_name, _, version = suite.rpartition("@")
    within = "/".join(rest)
    return (
        name == f"{top}/{suite}/{within}"
        and top == "suites"
        and is_name(suite_name)
        and version.isdecimal()
        and (within in (ROWS, SUITE, RUNS, LOOKS, CLAIMS) or _FIGURE.fullmatch(within) is not None)
    )


def _is_manifest(manifest: Mapping[str, Any]) -> bool:
    files, suites = manifest.get("files"), manifest.get("suites")
    return (
        manifest.get("format") == FORMAT
        and isinstance(files, dict)
        and all(
            isinstance(file, dict)
            and type(file.get("bytes")) is int
            and 0 <= file["bytes"] <= MOST_BYTES
            and isinstance(file.get("sha256"), str)
            for file in files.values()
        )
        and isinstance(suites, list)
        and all(
            isinstance(suite, dict)
            and is_name(suite.get("name"))
            and type(suite.get("version")) is int
            and {f"{folder_of(suite['name'], suite['version'])}/{name}" for name in (ROWS, SUITE, RUNS, LOOKS, CLAIMS)}
            <= files.keys()
            for suite in suites
        )
    )
