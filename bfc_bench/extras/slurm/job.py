"""Stores a job of shards in a folder of the store: its suite, and the cells of each shard."""

from __future__ import annotations

import fcntl
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bfc_bench.errors import StoreError
from bfc_bench.extras.slurm import SHARDS
from bfc_bench.run.grid import Cell
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.plain_json import canonical_json


@dataclass(frozen=True)
class ShardJob:
    """A submitted job. Its folder has everything that a shard needs, so that a shard never opens the store."""

    folder: Path
    where: str
    """Name of the suite in messages."""
    suite: dict[str, Any]
    """The definition of the suite."""
    device: Device
    workers: int
    """Workers of each shard."""
    cells: tuple[tuple[Cell, ...], ...]
    """The cells of each shard."""

    @property
    def name(self) -> str:
        """Name of the job."""
        return self.folder.name

    @classmethod
    def read(cls, folder: Path) -> ShardJob:
        """Read a job. Raises ``StoreError`` if the folder has none."""
        try:
            values = json.loads((folder / "job.json").read_text())
            values["cells"] = tuple(tuple(Cell(**cell) for cell in part) for part in values["cells"])
            return cls(folder, **values)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise StoreError(f"{folder} is not the folder of a job of shards: {error}.") from None

    def write(self) -> None:
        """Write the folder. Raises ``OutputError``."""
        make_folder(self.folder, private=True)
        values = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_file(self.folder / "job.json", canonical_json(values).encode(), private=True)

    def store(self, number: int) -> Path:
        """The folder of a shard's store."""
        return self.folder / f"shard-{number}"

    def log(self, number: int) -> Path:
        """The log of a shard."""
        return self.folder / f"shard-{number}.log"

    def runs_here(self, number: int) -> bool:
        """Whether a process of this machine runs a shard: it holds a lock on the log, which ends with it."""
        try:
            with self.log(number).open("rb") as log:
                fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    @property
    def array(self) -> str:
        """The id of its SLURM array; empty if it was not sent to SLURM."""
        path = self.folder / "array"
        return path.read_text().strip() if path.exists() else ""

    @property
    def collected(self) -> bool:
        """Whether all shards had ended when their rows were collected."""
        return (self.folder / "collected").exists()

    def note(self, name: str, text: str = "") -> None:
        """Write a fact about the job, ``array`` or ``collected``."""
        write_file(self.folder / name, text.encode())


def sharded_runs(store: Path) -> list[ShardJob]:
    """The jobs of a store in the order of submission."""
    return [ShardJob.read(path.parent) for path in sorted((store / SHARDS).glob("*/job.json"))]


def next_folder(store: Path, suite: str) -> Path:
    """The folder of the next job of a store."""
    numbers = [int(match[0]) for path in (store / SHARDS).glob("*") if (match := re.match(r"\d+", path.name))]
    return (store / SHARDS / f"{max(numbers, default=0) + 1:04}-{re.sub(r'[^A-Za-z0-9_.-]', '_', suite)}").resolve()
