"""Processes whose units are noted before they begin, and of which no more are begun when told so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from bfc_bench.executors.base import Pool, Resources, UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.run.work_units import Batch
from bfc_bench.toolkit.precision import Device


@dataclass
class Watch:
    """Who is told, and who tells."""

    note: Callable[[Sequence[Sequence[str]]], None]
    """Is given the cells that workers have, by batch, before a unit begins."""
    stopping: bool = False
    """No more units are begun."""


class ThrottledProcesses(ProcessExecutor):
    """Processes of this machine that are given no more units than there are workers."""

    watch: Watch = Field(exclude=True)
    """Who is told."""

    def open(
        self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool:
        """A pool of processes behind a queue of its own."""
        return ThrottledPool(super().open(call, prepare, jobs), self.watch)


@dataclass
class ThrottledPool:
    """An open pool; what waits for a worker waits here."""

    pool: Pool
    watch: Watch
    waiting: deque[tuple[int, Batch, Resources]] = field(default_factory=deque)
    running: dict[int, list[str]] = field(default_factory=dict)

    def slots(self, device: Device) -> int:
        """Those of the other pool."""
        return self.pool.slots(device)

    def submit(self, key: int, payload: Batch, needs: Resources) -> None:
        """Queue one unit."""
        self.waiting.append((key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, Any | UnitFailure]]:
        """As those of the other pool, until nothing runs: what is told to stop leaves the rest of the queue."""
        self._hand_out()
        for key, outcome in self.pool.outcomes():
            yield key, outcome
            del self.running[key]
            self._hand_out()

    def close(self, now: bool = False) -> None:
        """Release the workers."""
        self.pool.close(now)

    def _hand_out(self) -> None:
        begun = []
        while self.waiting and len(self.running) < self._room() and not self.watch.stopping:
            unit = self.waiting.popleft()
            self.running[unit[0]] = [cell.id for cell in unit[1].cells]
            begun.append(unit)
        self.watch.note(list(self.running.values()))
        for unit in begun:
            self.pool.submit(*unit)

    def _room(self) -> int:
        """How many units can run at once, of those that wait next."""
        return self.pool.slots(self.waiting[0][2].device)
