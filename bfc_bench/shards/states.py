"""Where shards stand: from their heartbeats, their journals, and SLURM's queue where there is one."""

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
from bfc_bench.utils.process_liveness import is_alive

SILENCE = 600.0
"""Seconds without a sign of life after which a shard is lost that nobody else knows of."""
Where: TypeAlias = Literal["waiting", "running", "done", "stopped", "failed", "lost"]


@dataclass(frozen=True)
class State:
    """One shard of a job."""

    job: ShardJob
    number: int
    where: Where
    """``stopped`` was told to, before it was done; ``failed`` says why; ``lost`` has ended without a word."""
    heartbeat: Heartbeat | None

    @property
    def open(self) -> bool:
        """Whether rows may still come."""
        return self.where in ("waiting", "running")

    @property
    def rows(self) -> int:
        """How many it has made so far."""
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
        """The cells that ran whenever it ended without a word, one that did so twice named twice."""
        if self.heartbeat is None:
            return []
        return self.heartbeat.suspects if self.where == "lost" else self.heartbeat.lost


def states(jobs: Sequence[ShardJob]) -> list[State]:
    """The shards of jobs. Where SLURM has one, it is asked; where it does not answer, a warning says so."""
    queued: Mapping[tuple[str, int], bool] | None
    try:
        queued = slurm.queue(jobs)
    except slurm.SlurmError as error:
        warnings.warn(f"{error} What shards do is told by their heartbeats alone.", stacklevel=2)
        queued = None
    return [state for job in jobs for state in _of(job, queued)]


def losses(states: Sequence[State]) -> Counter[str]:
    """How often each cell was running when its shard ended without a word."""
    return Counter(cell for state in states for cell in state.suspects)


def _of(job: ShardJob, queued: Mapping[tuple[str, int], bool] | None) -> Iterator[State]:
    at_slurm = {number for array in job.arrays for number in range(array.first, array.first + array.count)}
    for number in range(job.shards):
        heartbeat = Heartbeat.read(job.file("heartbeats", number))
        if number in at_slurm and queued is not None:
            where = _in_queue(heartbeat, queued.get((job.name, number)))
        else:
            where = _heard(heartbeat, number not in at_slurm and is_alive(*job.launcher) is False)
        yield State(job, number, where, heartbeat)


def _in_queue(heartbeat: Heartbeat | None, runs: bool | None) -> Where:
    """``runs`` is what SLURM says of a shard: whether it runs or waits, None where it is not in the queue."""
    if runs is not None:
        return "running" if runs else "waiting"
    return "lost" if heartbeat is None or heartbeat.said == "running" else heartbeat.said


def _heard(heartbeat: Heartbeat | None, abandoned: bool) -> Where:
    """By what is heard of it alone; ``abandoned`` where nobody is there who would start it."""
    if heartbeat is None:
        return "lost" if abandoned else "waiting"
    if heartbeat.said != "running":
        return heartbeat.said
    silent = time.time() - heartbeat.at > SILENCE
    return "lost" if heartbeat.alive is False or (heartbeat.alive is None and silent) else "running"
