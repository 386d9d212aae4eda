"""Finds the state of shards from their heartbeats and journals, and from SLURM's queue."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from bfc_bench.shards import slurm
from bfc_bench.shards.heartbeat import Heartbeat
from bfc_bench.shards.job import ShardCells, ShardJob
from bfc_bench.shards.journal import entries, lines
from bfc_bench.shards.reasons import why
from bfc_bench.shards.slurm import SlurmTask
from bfc_bench.utils.process_liveness import is_alive

SILENCE = 600.0
"""A shard without a heartbeat for this many seconds counts as lost, if neither SLURM nor its process can be asked."""
Where: TypeAlias = Literal["waiting", "running", "done", "stopped", "failed", "lost"]


@dataclass(frozen=True)
class State:
    """The state of a shard."""

    job: ShardJob
    number: int
    where: Where
    """``stopped``: told to stop before its end; ``failed``: the heartbeat says why; ``lost``: ended unexpectedly."""
    heartbeat: Heartbeat | None
    why: str = ""
    """Why it waits, failed or is lost, as far as that is known."""

    @property
    def open(self) -> bool:
        """Whether it may still make rows."""
        return self.where in ("waiting", "running")

    @property
    def rows(self) -> int:
        """Number of rows that it has made so far."""
        return sum(1 for _ in lines(self.job.file("journals", self.number)))

    @cached_property
    def part(self) -> ShardCells:
        """Its cells."""
        return self.job.part(self.number)

    @property
    def missing(self) -> set[str]:
        """Its cells that have no row in its journal."""
        made = {row.cell for row, *_ in entries(self.job.file("journals", self.number))}
        return {cell.id for cell in self.part.cells} - made

    @property
    def suspects(self) -> list[str]:
        """The cells that were running when it ended unexpectedly, once per time."""
        if self.heartbeat is None:
            return []
        return self.heartbeat.suspects if self.where == "lost" else self.heartbeat.lost


def states(jobs: Sequence[ShardJob]) -> list[State]:
    """The states of the shards of jobs. Asks SLURM about its jobs, and warns if SLURM does not answer."""
    queued: Mapping[tuple[str, int], SlurmTask] | None
    try:
        queued = slurm.tasks(jobs)
    except slurm.SlurmError as error:
        warnings.warn(f"{error} The state of shards is taken from their heartbeats alone.", stacklevel=2)
        queued = None
    return [state for job in jobs for state in _of(job, queued)]


def losses(states: Sequence[State]) -> Counter[str]:
    """How often each cell was running when its shard ended unexpectedly."""
    return Counter(cell for state in states for cell in state.suspects)


def _of(job: ShardJob, queued: Mapping[tuple[str, int], SlurmTask] | None) -> Iterator[State]:
    at_slurm = {number for array in job.arrays for number in range(array.first, array.first + array.count)}
    for number in range(job.shards):
        heartbeat, task = Heartbeat.read(job.file("heartbeats", number)), (queued or {}).get((job.name, number))
        if number in at_slurm and queued is not None:
            where = _from_queue(heartbeat, task)
        else:
            where = _from_heartbeat(heartbeat, number not in at_slurm and is_alive(*job.launcher) is False)
        yield State(job, number, where, heartbeat, why(job, number, where, task, heartbeat))


def _from_queue(heartbeat: Heartbeat | None, task: SlurmTask | None) -> Where:
    """The state of a shard by SLURM; None for one that SLURM does not know any more."""
    if task is not None and not task.ended:
        return "waiting" if task.waits else "running"
    return "lost" if heartbeat is None or heartbeat.said == "running" else heartbeat.said


def _from_heartbeat(heartbeat: Heartbeat | None, abandoned: bool) -> Where:
    """The state of a shard by its heartbeat; ``abandoned`` if the process that would start it has ended."""
    if heartbeat is None:
        return "lost" if abandoned else "waiting"
    if heartbeat.said != "running":
        return heartbeat.said
    silent = time.time() - heartbeat.at > SILENCE
    return "lost" if heartbeat.alive is False or (heartbeat.alive is None and silent) else "running"
