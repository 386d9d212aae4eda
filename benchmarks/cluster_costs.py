"""Measures what a run on many machines costs its session, one operation at a time.

CPU time is measured, because this machine may be busy; disk operations are measured by the least wall time of a few.

The session's own part of ``executor ray`` runs unchanged, with a stub of Ray that answers at once.
``benchmarks.ray_units`` measures the cost of Ray itself on a cluster.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.commands import command_cpu
from benchmarks.measurement import own_cpu, timed
from benchmarks.rows import synthetic_row
from bfc_bench.executors.base import Resources
from bfc_bench.executors.ray.cluster import Cluster, Node
from bfc_bench.executors.ray.pool import RayPool
from bfc_bench.executors.ray.slots import RayUnit, Slot, SlotShape
from bfc_bench.executors.watched_clock import WatchedClock
from bfc_bench.run.grid import Grid
from bfc_bench.run.plan import Planned
from bfc_bench.run.wire_format import pack, receive, send
from bfc_bench.seeds import stream
from bfc_bench.shards.journal import Entry, Journal
from bfc_bench.store.store import Store

REPETITIONS = 3
START = """
from bfc_bench.plugins import load_plugins
from bfc_bench.run import cell
load_plugins()
import torch, jax.numpy, scipy.linalg
jax.numpy.zeros(1)
"""
"""What a worker does before its first fit, without compilation."""


class _RayError(Exception):
    """Stub of Ray's errors, which is never raised."""


class _Answer:
    """Stub of a future that is done."""

    def __init__(self, value: object = b"") -> None:
        self.value = value


class _Actor:
    """Stub of a slot whose calls are done at once."""

    def __init__(self, *arguments: object) -> None:
        self.run = self.ready = self.close = SimpleNamespace(remote=lambda *given: _Answer())


class _Ray:
    """Stub of the functions of Ray that the pool uses."""

    exceptions = SimpleNamespace(RayError=_RayError, RayTaskError=_RayError)
    cloudpickle = pickle

    def __init__(self) -> None:
        self.together = 1
        """Number of answers per pass over the slots."""
        self._versions: dict[str, str] | None = None

    def remote(self, **options: object) -> Callable[[Any], Any]:
        return lambda what: SimpleNamespace(remote=_Actor if isinstance(what, type) else self._call(what))

    def _call(self, function: Callable[..., dict[str, str]]) -> Callable[..., _Answer]:
        def call(*arguments: object) -> _Answer:
            self._versions = self._versions or function(*arguments)
            return _Answer(self._versions)

        return call

    def wait(self, answers: Sequence[_Answer], num_returns: int, timeout: float) -> tuple[list[_Answer], list[_Answer]]:
        return list(answers[: self.together]), []

    def get(self, answer: _Answer, timeout: float = 0.0) -> object:
        return answer.value


class _Machines:
    """Stub of a cluster of ``machines`` nodes."""

    def __init__(self, machines: int, cores: int) -> None:
        self.ray = _Ray()
        self._nodes = {str(i): Node(str(i), f"node{i}", cores, 0, 64 * 10**9) for i in range(machines)}

    def nodes(self) -> dict[str, Node]:
        return self._nodes

    def on(self, node: Node) -> str:
        return node.id


def _nothing(payload: object) -> bytes:
    return b""


@dataclass(frozen=True)
class Driving:
    """CPU seconds of the session at one size of the cluster."""

    place: float
    """Starting one slot, when half of all slots exist."""
    look: float
    """A pass over all slots, without the unit that has ended."""
    dispatch: float
    """One more unit in a pass: pickled, submitted, received."""


def driving(batches: Sequence[Planned], machines: int, cores: int, slots: int) -> Driving:
    """Measure ``executors/ray`` with the stub of Ray.

    Args:
        batches: units to submit.
        machines: number of nodes.
        cores: cores per node.
        slots: number of slots in the end.
    """
    cluster = _Machines(machines, cores)
    pool = RayPool(cast(Cluster, cluster), SlotShape(jobs=slots), _nothing, {}, 0.0)
    nodes, queue = list(cluster.nodes().values()), pool._queues.waiting["cpu"]

    def fill(slots: int) -> None:
        now = time.monotonic()
        pool._slots.all = [
            Slot(_Actor(), nodes[i % machines], "cpu", 1, None, WatchedClock(), since=now) for i in range(slots)
        ]

    fill(slots // 2)
    together = max(1, min(32, (slots - slots // 2) // (2 * REPETITIONS)))
    placing = _cpu(lambda: pool._slots.start("cpu", together)) / together
    fill(slots)
    units = [RayUnit(i, batch.batch, Resources(600.0, 10**8)) for i, batch in enumerate(batches)]
    for slot in pool._slots.all:
        slot.calls.append((_Answer(), RayUnit(-1, None, Resources(600.0, 10**8))))

    def go_over(together: int) -> float:
        cluster.ray.together = together
        queue.clear()
        queue.extend(units * (1 + (2 * slots + 100) // len(units)))
        outcomes = pool.outcomes()
        for slot in pool._slots.all:
            while len(slot.calls) < 2:
                slot.calls.append((_Answer(), units[0]))
        return _cpu(lambda: list(islice(outcomes, together)))

    several = min(slots, 32)
    one, many = go_over(1), go_over(several)
    dispatch = max(0.0, many - one) / (several - 1)
    return Driving(placing, max(0.0, one - dispatch), dispatch)


def _cpu(call: Callable[[], object]) -> float:
    """CPU seconds of a call, median of a few."""
    return median(timed(call, own_cpu) for _ in range(REPETITIONS))


def _wall(call: Callable[[], object]) -> float:
    """Wall seconds of a call, minimum of a few."""
    return min(timed(call, time.perf_counter) for _ in range(REPETITIONS))


@dataclass(frozen=True)
class Writing:
    """Wall seconds of the process that writes rows."""

    commit: float
    """A transaction, with SQLite's sync."""
    row: float
    """A row of a transaction: received, checked, written."""
    sync: float
    """Syncing the rows of a unit to a shard's journal on this disk."""


def writing(grid: Grid, batches: Sequence[Planned], folder: Path) -> Writing:
    """Measure ``receive``, ``Store.put`` and ``Journal.add`` for the rows of units.

    Args:
        grid: grid of the cells.
        batches: the units.
        folder: empty folder for new files.
    """
    rng, rows = stream("synthetic rows"), 0
    sent = []
    for planned in batches:
        cells = planned.batch.cells
        sent.append((planned.batch, send([pack(synthetic_row(cell, grid, rng), "") for cell in cells], {})))
        rows += len(cells)
    with Store(folder / "store", write=True) as store:

        def put(several: Sequence[tuple[Any, bytes]]) -> None:
            finished = [done for batch, said in several for done in receive(batch, said).finished]
            store.put(
                (row, grid.task_digests[row.task], grid.learner_digests[row.label], text) for row, text, _ in finished
            )

        each = _wall(lambda: [put([one]) for one in sent])
        together = _wall(lambda: put(sent))
    journal = Journal(folder / "journal")
    some = [[(done.row, "t", "l", "") for done in receive(batch, said).finished] for batch, said in sent[:20]]

    def note(entries: Sequence[Entry]) -> None:
        for entry in entries:
            journal.add(entry)
        journal.sync()

    syncing = _wall(lambda: [note(entries) for entries in some]) / len(some)
    journal.close()
    return Writing(max(0.0, each - together) / len(sent), together / rows, syncing)


def start() -> float:
    """CPU seconds to start a worker with its libraries, with their files in the disk cache."""
    return min(command_cpu("-c", START) for _ in range(2))
