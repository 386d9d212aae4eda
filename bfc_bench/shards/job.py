"""Stores a job of shards in a folder: its suite, and the cells of each shard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bfc_bench.errors import OutputError, StoreError
from bfc_bench.run.grid import Cell
from bfc_bench.store.backup import SHARDS
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.plain_json import canonical_json


@dataclass(frozen=True)
class SlurmArray:
    """A SLURM array of a job. Its tasks are the shards from ``first`` on."""

    id: str
    first: int
    count: int


@dataclass(frozen=True)
class ShardCells:
    """The cells of one shard."""

    cells: tuple[Cell, ...]
    lost: Mapping[str, int]
    """How often a shard ended unexpectedly while it ran a cell, by id; only cells with at least one loss."""


@dataclass(frozen=True)
class ShardJob:
    """A submitted job. Its folder has everything that a shard needs, so that a shard never opens the store.

    The folders ``parts``, ``journals``, ``heartbeats`` and ``logs`` have a file per shard; ``artifacts`` has files of
    learners.
    """

    folder: Path
    id: str
    """Id of its session in the store."""
    release: str
    """Version of bfc-bench that submitted it."""
    where: str
    """The suite's name, for messages."""
    suite: dict[str, Any]
    """The definition of the suite."""
    device: Device
    workers: int
    """Workers per shard."""
    shards: int
    replaces: dict[str, str]
    """Cells that have a row and run again, with the session of that row."""
    launcher: tuple[str, int, str]
    """Host, process id and ``process_start`` of the process that submits it."""

    @property
    def name(self) -> str:
        """Name of the job."""
        return self.folder.name

    @classmethod
    def read(cls, folder: Path) -> ShardJob:
        """Read a job. Raises ``StoreError`` if the folder has none."""
        try:
            return cls(folder, **json.loads((folder / "job.json").read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"{folder} is not the folder of a job of shards: {error}.") from None

    def write(self, parts: Sequence[ShardCells]) -> None:
        """Write the folder, ``job.json`` last: without it the folder is no job. Raises ``OutputError``."""
        for name in ("parts", "journals", "heartbeats", "logs"):
            make_folder(self.folder / name, private=True)
        for number, part in enumerate(parts):
            cells = [[c.id, c.task, c.label, c.d, c.n, c.replicate] for c in part.cells]
            content = canonical_json({"cells": cells, "lost": dict(part.lost)})
            write_file(self.file("parts", number), content.encode(), private=True)
        values = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_file(self.folder / "job.json", canonical_json(values).encode(), private=True)

    def part(self, number: int) -> ShardCells:
        """The cells of a shard. Raises ``StoreError`` if the job has no shard of that number."""
        try:
            part = json.loads(self.file("parts", number).read_text())
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.folder} has no shard {number}; it has {self.shards}: {error}.") from None
        return ShardCells(tuple(Cell(*values) for values in part["cells"]), part["lost"])

    def file(self, kind: str, number: int) -> Path:
        """The file of a shard in one of the folders ``parts``, ``journals``, ``heartbeats`` and ``logs``."""
        suffixes = {"journals": "jsonl", "logs": "txt"}
        return self.folder / kind / f"{number:05}.{suffixes.get(kind, 'json')}"

    def log(self, number: int) -> Path:
        """The log of a shard; SLURM names it by its array and task."""
        for array in self.arrays:
            if array.first <= number < array.first + array.count:
                return self.folder / "logs" / f"{array.id}-{number - array.first}.txt"
        return self.file("logs", number)

    def note_arrays(self, arrays: Iterable[SlurmArray]) -> None:
        """Store the SLURM arrays of the job."""
        write_file(self.folder / "slurm.json", canonical_json([asdict(array) for array in arrays]).encode())

    @property
    def arrays(self) -> list[SlurmArray]:
        """The SLURM arrays of the job; empty if it was not sent to SLURM."""
        try:
            return [SlurmArray(**values) for values in json.loads((self.folder / "slurm.json").read_text())]
        except FileNotFoundError:
            return []


def jobs(store: Path) -> list[ShardJob]:
    """The jobs of a store in the order of submission."""
    folders = sorted(path.parent for path in (store / SHARDS).glob("*/job.json"))
    return [ShardJob.read(folder) for folder in folders]


def new_folder(store: Path, suite: str) -> Path:
    """Make the folder of the next job. The caller must hold the store. Raises ``OutputError``."""
    taken = [int(digits[0]) for path in (store / SHARDS).glob("*") if (digits := re.match(r"\d+", path.name))]
    name = re.sub(r"[^\w.-]", "_", suite)
    folder = store / SHARDS / f"{max(taken, default=0) + 1:04}-{name}"
    if folder.exists():
        raise OutputError(f"{folder} exists already.")
    make_folder(folder, private=True)
    return folder
