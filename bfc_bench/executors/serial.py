"""Runs units one after the other in this process: for debugging, with breakpoints and plain tracebacks.

It cannot stop a unit that never returns, nor survive one that ends the process.
"""

import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from bfc_bench.errors import describe_error
from bfc_bench.executors.base import Executor, Place, Resources, UnitFailure
from bfc_bench.toolkit.precision import Device


class SerialExecutor(Executor):
    """Runs units one after the other in this process, for debugging."""

    name: ClassVar[str] = "serial"
    place: ClassVar[Place] = "session"

    def open(
        self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> "SerialPool":
        """A pool that applies ``call`` here, after ``prepare``; it is one worker whatever ``jobs`` is."""
        if prepare is not None:
            prepare()
        return SerialPool(call)


class SerialPool:
    """A queue of units, run when their outcome is asked for."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call
        self._queue: deque[tuple[int, Any]] = deque()

    def slots(self, device: Device) -> int:
        """One, on any device."""
        return 1

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue one unit; what it needs is not looked at."""
        self._queue.append((key, payload))

    def outcomes(self) -> Iterator[tuple[int, Any | UnitFailure]]:
        """Run the queue in order."""
        while self._queue:
            key, payload = self._queue.popleft()
            try:
                outcome = self._call(payload)
            except Exception as error:
                outcome = UnitFailure("raised", describe_error(error), traceback.format_exc())
            yield key, outcome

    def close(self, now: bool = False) -> None:
        """Forget what is queued."""
        self._queue.clear()
