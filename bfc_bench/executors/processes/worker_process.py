"""Worker processes as the system sees them: started anew, or forked from a process that has the libraries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bfc_bench.executors.launch import launch
from bfc_bench.executors.worker import work

CAN_FORK = sys.platform == "linux"
"""Whether workers may be forked. Elsewhere, libraries of the system must not be used after a fork."""


class WorkerProcess(Protocol):
    """A process that runs ``work``."""

    pid: int
    """Its id, and that of its process group."""

    def exit_code(self) -> int | None:
        """None while it runs, then its exit code, or the negative number of the signal that ended it."""

    def forget(self) -> None:
        """Let the system use its id again."""


class SpawnedProcess:
    """A worker that is a new interpreter, which imports what its units need itself."""

    def __init__(self, call: Callable[[Any], bytes], environment: Mapping[str, str], units: int, messages: int) -> None:
        """Start it.

        Args:
            call: Picklable function from payload to result.
            environment: Its environment.
            units: File descriptor where units come from.
            messages: File descriptor where messages go to.
        """
        self._process = launch(work, (os.getpid(), units, messages, call), environment, [units, messages])
        self.pid = self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs, then its exit code."""
        return self._process.poll()

    def forget(self) -> None:
        """Nothing is left to do: ``exit_code`` has done it."""
