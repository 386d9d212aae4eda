"""An executor as another one, but that units are noted before they begin, and that no more are begun when told so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfc_bench.executors.base import Executor, Fault, Pool
from bfc_bench.run.work import Batch


@dataclass
class Watch:
    """Who is told, and who tells."""

    note: Callable[[Sequence[Sequence[str]]], None]
    """Is given the cells that workers have, by batch, before a unit begins."""
    stopping: bool = False
    """No more units are begun."""


class Watched:
    """Runs units as another executor does."""

    def __init__(self, executor: Executor, watch: Watch) -> None:
        self.jobs, self.enforces_limits = executor.jobs, executor.enforces_limits
        self._executor, self._watch = executor, watch

    def open(self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None) -> Pool:
        """A pool of the other executor that has no more units than workers."""
        return WatchedPool(self._executor.open(call, prepare), self.jobs, self._watch)


@dataclass
class WatchedPool:
    """An open pool; what waits for a worker waits here."""

    pool: Pool
    workers: int
    watch: Watch
    waiting: deque[tuple[int, Batch, tuple[Any, ...], dict[str, Any]]] = field(default_factory=deque)
    running: dict[int, list[str]] = field(default_factory=dict)

    def submit(self, key: int, payload: Batch, *limits: Any, **named: Any) -> None:
        """Queue one unit."""
        self.waiting.append((key, payload, limits, named))

    def outcomes(self) -> Iterator[tuple[int, Any | Fault]]:
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
        while self.waiting and len(self.running) < self.workers and not self.watch.stopping:
            key, batch, limits, named = self.waiting.popleft()
            self.running[key] = [cell.id for cell in batch.cells]
            begun.append((key, batch, limits, named))
        self.watch.note(list(self.running.values()))
        for key, batch, limits, named in begun:
            self.pool.submit(key, batch, *limits, **named)
