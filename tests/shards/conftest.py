import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.shards.job import ShardJob
from bfc_bench.shards.submit import ShardRequest, Submission, prepare
from bfc_bench.suite.model import read_suite


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def submit(store: Path) -> Callable[..., Submission]:
    """Writes a job of a suite file down: ``submit(path, shards=2, workers=1, changes=[...], redo=[...])``."""

    def write(path: Path, shards: int = 2, workers: int = 1, changes: Any = (), redo: Any = ()) -> Submission:
        grid = resolve(read_suite(Path(path), changes), load_plugins(), str(path))
        return prepare(grid, store, ShardRequest(shards, workers), device="cpu", redo=redo)

    return write


@pytest.fixture
def start() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Begins a shard as SLURM would, in a process of its own."""
    begun: list[subprocess.Popen[bytes]] = []

    def begin(job: ShardJob, number: int) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "bfc_bench", "shard", str(job.folder), str(number)]
        with job.file("logs", number).open("ab") as log:
            begun.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()


@pytest.fixture
def die(tmp_path: Path) -> dict[str, Any]:
    """A learner that takes its shard with it, as a machine that dies, at n = 20, as often as the options say."""
    return {"name": "deadly", "options": {"path": str(tmp_path / "deaths"), "times": 1}}
