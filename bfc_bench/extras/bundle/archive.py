"""Writes and reads a bundle: a zip file with a store's file, its verdicts, a citation and a manifest.

What is read may come from another person, so it is checked before it is used.
"""

import io
import zipfile
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic_core import from_json

from bfc_bench.config import Settings
from bfc_bench.errors import StoreError
from bfc_bench.store.unpacking import STORE, STORE_BYTES
from bfc_bench.utils.files import write_file
from bfc_bench.utils.plain_json import readable_json

FORMAT = 2
MANIFEST, CLAIMS, CITATION = "manifest.json", "claims.json", "CITATION.cff"
MOST_BYTES = {MANIFEST: 1_000_000, STORE: STORE_BYTES, CLAIMS: 50_000_000, CITATION: 1_000_000}
"""The files of a bundle, with the maximum size of each when it is unpacked."""


class SuiteFacts(Settings):
    """What a manifest says of a suite."""

    name: str
    version: int
    seed: int
    statuses: dict[str, int]
    """Number of rows by status."""
    claims: dict[str, int]
    """Number of verdicts by word."""

    @property
    def id(self) -> str:
        """NAME@VERSION."""
        return f"{self.name}@{self.version}"


class File(Settings):
    """Size and SHA-256 of a file."""

    bytes: int
    sha256: str


class Manifest(Settings):
    """What a bundle says of itself."""

    format: int = Field(ge=FORMAT, le=FORMAT)
    title: str
    authors: list[str]
    license: str
    """Identifier of the licence in the SPDX list."""
    date: str
    """The day of the last row, in UTC."""
    suites: list[SuiteFacts]
    files: dict[str, File]


def write_archive(to: Path, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> str:
    """Write a bundle with a manifest and return the manifest's SHA-256. Raises ``OutputError``."""
    listed = {name: {"bytes": len(content), "sha256": sha256(content).hexdigest()} for name, content in files.items()}
    manifest = readable_json({"format": FORMAT, **facts, "files": listed})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in {MANIFEST: manifest, **files}.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_BZIP2, 0o644 << 16
            archive.writestr(entry, content)
    write_file(to, buffer.getbuffer())
    return sha256(manifest).hexdigest()


def read_bundle(path: Path) -> tuple[Manifest, list[Any], str]:
    """What a bundle says of its rows, which ``open_store`` reads: its manifest, its claims and the manifest's SHA-256.

    The claims are, for each suite, its ``definition`` with the judged claims, and their ``verdicts``.
    Raises ``StoreError`` in one line for what is not a bundle or is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            digests = _digests(archive)
            manifest = Manifest.parse(from_json(archive.read(MANIFEST)), MANIFEST)
            claims = from_json(archive.read(CLAIMS), allow_inf_nan=False)
        digest = digests.pop(MANIFEST)
        if {name: file.sha256 for name, file in manifest.files.items()} != digests:
            raise ValueError("its files are not those of its manifest")
    except Exception as error:  # zipfile raises more than ten kinds
        reason = " ".join(str(getattr(error, "strerror", error)).split())[:300] or type(error).__name__
        raise StoreError(f"{path} is not a bundle that bfc-bench reads: {reason}. `bundle` makes one.") from None
    return manifest, claims, digest


def _digests(archive: zipfile.ZipFile) -> dict[str, str]:
    """SHA-256 of each file of a bundle. Raises ``ValueError`` if it has other files, or one that is too large."""
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if sorted(entry.filename for entry in entries) != sorted(MOST_BYTES):
        raise ValueError(f"its files must be {', '.join(MOST_BYTES)}")
    digests = {}
    for entry in entries:
        if entry.file_size > MOST_BYTES[entry.filename]:  # zipfile reads no more than this size
            raise ValueError(f"{entry.filename} has more than {MOST_BYTES[entry.filename]:,} bytes")
        with archive.open(entry) as file:
            digests[entry.filename] = file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return digests
