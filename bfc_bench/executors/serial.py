"""Runs units one after the other in this process, for debugging with breakpoints and plain tracebacks.

A unit that never returns is not stopped, and a unit that ends the process ends the session.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from bfc_bench.errors import describe_error
from bfc_bench.executors.base import Executor, Place, Preload, UnitFailure
from bfc_bench.toolkit.precision import Device


class SerialExecutor(Executor):
    """Runs units one after the other in this process, for debugging."""

    name: ClassVar[str] = "serial"
    place: ClassVar[Place] = "session"

    def slots(self, device: Device, jobs: int | None = None) -> int:
        """1 on any device."""
        return 1

    def open(self, call: Callable[[Any], Any], preload: Preload | None = None, jobs: int | None = None) -> "SerialPool":
        """A pool of one worker, which is this process; ``preload`` and ``jobs`` are ignored."""
        return SerialPool(call)


class SerialPool:
    """A queue of units, which ``outcomes`` runs."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call
        self._queue: deque[tuple[int, Any]] = deque()
        self._running: dict[int, float] = {}

    def slots(self, device: Device) -> int:
        """1 on any device."""
        return 1

    def submit(self, key: int, payload: Any, seconds: float, device: Device = "cpu", group: str = "") -> None:
        """Queue a unit; what it needs is ignored."""
        self._queue.append((key, payload))

    def outcomes(self) -> Iterator[tuple[int, Any | UnitFailure]]:
        """Run the queue in order."""
        while self._queue:
            key, payload = self._queue.popleft()
            self._running = {key: time.monotonic()}
            try:
                outcome = self._call(payload)
            except Exception as error:
                outcome = UnitFailure("failed", describe_error(error), traceback.format_exc())
            self._running = {}
            yield key, outcome

    def running(self) -> Mapping[int, float]:
        """The unit that runs, with the time at which it began."""
        return self._running

    def close(self, now: bool = False) -> None:
        """Drop the queue."""
        self._queue.clear()
