"""What is written down of a job: its suite, and the cells of each of its shards."""

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
    """A SLURM array of a job: its tasks are the job's shards from ``first`` on."""

    id: str
    first: int
    count: int


@dataclass(frozen=True)
class ShardCells:
    """The cells of one shard."""

    cells: tuple[Cell, ...]
    lost: Mapping[str, int]
    """How many shards have ended without a word while they ran a cell, by its id, where any has."""


@dataclass(frozen=True)
class ShardJob:
    """One submission. Its folder has all that a shard needs to know, so that a shard never opens the store.

    ``parts``, ``journals``, ``heartbeats`` and ``logs`` have a file per shard; ``artifacts`` is what learners keep.
    """

    folder: Path
    id: str
    """Of its session in the store."""
    release: str
    """Of bfc-bench, which submitted it."""
    where: str
    """The suite's file, for messages."""
    suite: dict[str, Any]
    """Its definition."""
    device: Device
    workers: int
    """Of each shard."""
    shards: int
    replaces: dict[str, str]
    """Cells that have a row and are made again: the session that made that row."""
    launcher: tuple[str, int, str]
    """Host, number and start (``process_start``) of the process that submits it."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.folder.name

    @classmethod
    def read(cls, folder: Path) -> ShardJob:
        """Raises ``StoreError`` where a folder holds no job."""
        try:
            return cls(folder, **json.loads((folder / "job.json").read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise StoreError(f"{folder} is not the folder of a job of shards: {error}.") from None

    def write(self, parts: Sequence[ShardCells]) -> None:
        """Write it down, the job itself last: a folder without it is none. Raises ``OutputError``."""
        for name in ("parts", "journals", "heartbeats", "logs"):
            make_folder(self.folder / name, private=True)
        for number, part in enumerate(parts):
            cells = [[c.id, c.task, c.label, c.d, c.n, c.replicate] for c in part.cells]
            content = canonical_json({"cells": cells, "lost": dict(part.lost)})
            write_file(self.file("parts", number), content.encode(), private=True)
        values = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_file(self.folder / "job.json", canonical_json(values).encode(), private=True)

    def part(self, number: int) -> ShardCells:
        """The cells of a shard. Raises ``StoreError`` for a number that it does not have."""
        try:
            found = json.loads(self.file("parts", number).read_text())
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.folder} has no shard {number}; it has {self.shards}: {error}.") from None
        return ShardCells(tuple(Cell(*values) for values in found["cells"]), found["lost"])

    def file(self, kind: str, number: int) -> Path:
        """The file of a kind that belongs to a shard."""
        ends = {"journals": "jsonl", "logs": "txt"}
        return self.folder / kind / f"{number:05}.{ends.get(kind, 'json')}"

    def note_arrays(self, arrays: Iterable[SlurmArray]) -> None:
        """Remember under which numbers SLURM has it."""
        write_file(self.folder / "slurm.json", canonical_json([asdict(array) for array in arrays]).encode())

    @property
    def arrays(self) -> list[SlurmArray]:
        """What ``note_arrays`` was given; none for a job that SLURM does not have."""
        try:
            return [SlurmArray(**values) for values in json.loads((self.folder / "slurm.json").read_text())]
        except FileNotFoundError:
            return []


def jobs(store: Path) -> list[ShardJob]:
    """The jobs of a store, in the order in which they were submitted."""
    folders = sorted(path.parent for path in (store / SHARDS).glob("*/job.json"))
    return [ShardJob.read(folder) for folder in folders]


def new_folder(store: Path, suite: str) -> Path:
    """The folder of the next job. Raises ``OutputError``; to be called by whoever holds the store."""
    taken = [int(found[0]) for path in (store / SHARDS).glob("*") if (found := re.match(r"\d+", path.name))]
    name = re.sub(r"[^\w.-]", "_", suite)
    folder = store / SHARDS / f"{max(taken, default=0) + 1:04}-{name}"
    if folder.exists():
        raise OutputError(f"{folder} exists already.")
    make_folder(folder, private=True)
    return folder
