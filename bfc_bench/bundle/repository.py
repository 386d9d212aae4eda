"""The layout of a results repository: a folder, usually in git, in which a community collects bundles.

An entry is a bundle of one suite as a folder: ``results/SUITE/VERSION/SOURCE``. A source is a contributor, who has
folders of their own, so that two contributors do not change the same files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field, NonNegativeInt, PositiveFloat
from pydantic_core import from_json

from bfc_bench.bundle.archive import MANIFEST
from bfc_bench.bundle.metadata import LICENCE
from bfc_bench.bundle.verify import UNCHECKED
from bfc_bench.config import Settings, read_toml
from bfc_bench.utils.names import is_name

SETTINGS, RESULTS, SUITES, CHECKS = "results.toml", "results", "suites", "checks.json"
"""The settings of a repository, its folders of entries and of suite files, and what the last check found."""


class RepositorySettings(Settings):
    """What a results repository accepts, and how its entries are checked."""

    megabytes: PositiveFloat = 50.0
    """Maximum size of an entry."""
    licences: list[str] = Field(default=[LICENCE], min_length=1)
    """Licences that an entry may have, by their identifiers in the SPDX list."""
    cells: NonNegativeInt = 3
    """Cells of an entry that are drawn by its digest and run again."""
    doubted: NonNegativeInt = 20
    """Maximum number of implausible rows of an entry whose cells are run again."""
    seconds: PositiveFloat = 10.0
    """Maximum CPU time of the fit of a cell that is run again."""
    tolerance: float = Field(default=1e-2, ge=0, lt=1)
    """Relative difference up to which two results of a cell agree."""


@dataclass(frozen=True)
class Place:
    """Where an entry lies in a repository."""

    folder: Path
    suite: str
    version: str
    source: str

    @property
    def name(self) -> str:
        """The folder relative to the repository, such as ``results/smoke/1/ada``."""
        return f"{RESULTS}/{self.suite}/{self.version}/{self.source}"


def is_repository(path: Path) -> bool:
    """Whether a folder is a results repository."""
    return (path / SETTINGS).is_file()


def settings_of(repository: Path) -> RepositorySettings:
    """The settings of a repository. Raises ``UsageError`` for a wrong file."""
    return RepositorySettings.parse(read_toml(repository / SETTINGS), str(repository / SETTINGS))


def places(repository: Path) -> tuple[list[Place], list[str]]:
    """The entries of a repository by name, and what else lies below ``results/``.

    No link is followed: a link is something else.
    """
    found, odd = [], []
    root = repository / RESULTS
    pending = [root] if root.is_dir() and not root.is_symlink() else []
    while pending:
        folder = pending.pop()
        for path in sorted(folder.iterdir()):
            parts = path.relative_to(root).parts
            if path.is_symlink() or not path.is_dir() or not is_name(path.name):
                if path.name != ".gitkeep":
                    odd.append(f"{RESULTS}/{'/'.join(parts)}")
            elif len(parts) == 3:
                found.append(Place(path, *parts))
            else:
                pending.append(path)
    return sorted(found, key=lambda place: place.name), sorted(odd)


def expanded(paths: Sequence[Path]) -> list[Path]:
    """The paths, with the folders of its entries in place of each repository."""
    found = []
    for path in paths:
        found += [place.folder for place in places(path)[0]] if is_repository(path) else [path]
    return found


def bytes_of(folder: Path) -> int:
    """The size of all files below a folder; links are not followed."""
    return sum(os.lstat(Path(at, name)).st_size for at, _, files in os.walk(folder) for name in files)


def checks_of(entry: Path) -> Mapping[str, Any] | None:
    """What the last check found about an entry, or only its mark ``UNCHECKED`` if the entry has changed since.

    None for a folder that is no entry of a repository.

    Args:
        entry: The folder of the entry in its repository.
    """
    if len(entry.parts) < 5 or not is_repository(entry.parents[3]):
        return None
    try:
        checks = from_json((entry.parents[3] / CHECKS).read_bytes())["entries"]
        found = checks["/".join(entry.parts[-4:])]
        digest = sha256((entry / MANIFEST).read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return {"mark": UNCHECKED}
    return found if isinstance(found, dict) and found.get("digest") == digest else {"mark": UNCHECKED}
