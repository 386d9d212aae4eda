"""Runs units one after the other in this process: for debugging, with breakpoints and plain tracebacks.

It cannot stop a unit that never returns, nor survive one that ends the process.
"""

import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from bfc_bench.errors import words
from bfc_bench.executors.base import Fault


class SerialExecutor:
    """Runs units one after the other in this process, for debugging."""

    enforces_limits = False
    in_process = True

    def __init__(self, jobs: int = 1) -> None:
        self.jobs = 1

    def open(self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None) -> "SerialPool":
        """A pool that applies ``call`` here, after ``prepare``."""
        if prepare is not None:
            prepare()
        return SerialPool(call)


class SerialPool:
    """A queue of units, run when their outcome is asked for."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call
        self._queue: deque[tuple[int, Any]] = deque()

    def submit(self, key: int, payload: Any, seconds: float) -> None:
        """Queue one unit; ``seconds`` is not enforced."""
        self._queue.append((key, payload))

    def outcomes(self) -> Iterator[tuple[int, Any | Fault]]:
        """Run the queue in order."""
        while self._queue:
            key, payload = self._queue.popleft()
            try:
                yield key, self._call(payload)
            except Exception as error:
                yield key, Fault("raised", words(error), traceback.format_exc())

    def close(self, now: bool = False) -> None:
        """Forget what is queued."""
        self._queue.clear()
