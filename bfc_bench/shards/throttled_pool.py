"""A process pool that reports units before they begin, and can be told to begin no more."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from bfc_bench.executors.base import Pool, Preload, Resources, UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.run.work_units import Batch
from bfc_bench.toolkit.precision import Device


@dataclass
class PoolControl:
    """The callback of a pool, and the flag that stops it."""

    note: Callable[[Sequence[Sequence[str]]], None]
    """Called before a unit begins, with the cells that workers have, by batch."""
    stopping: bool = False
    """Whether no more units may begin."""


class ThrottledProcesses(ProcessExecutor):
    """Opens process pools that begin only as many units as there are workers."""

    watch: PoolControl = Field(exclude=True)
    """Callback and stop flag of its pools."""

    def open(
        self,
        call: Callable[[Any], Any],
        preload: Preload | None = None,
        jobs: int | None = None,
    ) -> Pool:
        """A process pool behind a queue."""
        return ThrottledPool(super().open(call, preload, jobs), self.watch)


@dataclass
class ThrottledPool:
    """Keeps units in a queue until a worker of the other pool is free."""

    pool: Pool
    watch: PoolControl
    waiting: deque[tuple[int, Batch, Resources]] = field(default_factory=deque)
    running: dict[int, list[str]] = field(default_factory=dict)

    def slots(self, device: Device) -> int:
        """The slots of the other pool."""
        return self.pool.slots(device)

    def submit(self, key: int, payload: Batch, needs: Resources) -> None:
        """Queue a unit."""
        self.waiting.append((key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, Any | UnitFailure]]:
        """The outcomes of the other pool until no unit runs. After a stop, the rest of the queue is not run."""
        self._hand_out()
        for key, outcome in self.pool.outcomes():
            yield key, outcome
            del self.running[key]
            self._hand_out()

    def close(self, now: bool = False) -> None:
        """Release the workers."""
        self.pool.close(now)

    def _hand_out(self) -> None:
        starting = []
        while self.waiting and len(self.running) < self._slots_now() and not self.watch.stopping:
            unit = self.waiting.popleft()
            self.running[unit[0]] = [cell.id for cell in unit[1].cells]
            starting.append(unit)
        self.watch.note(list(self.running.values()))
        for unit in starting:
            self.pool.submit(*unit)

    def _slots_now(self) -> int:
        """The number of slots for the next unit in the queue."""
        return self.pool.slots(self.waiting[0][2].device)
