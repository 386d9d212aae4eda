"""A tested executor: its pools, and the processes that it starts."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bfc_bench.executors.base import Executor, Pool, Promise, Resources
from bfc_bench.testing.executor_units import do
from bfc_bench.testing.requirement import require, skip
from bfc_bench.utils.process_start import process_start

EXIT_SECONDS = 20.0
"""Time limit for processes that were told to end."""


@dataclass
class PoolTrial:
    """An executor and the pool that its requirements share; a requirement that opens another pool closes it."""

    executor: Executor
    jobs: int = 2

    def __post_init__(self) -> None:
        self._shared: Pool | None = None
        self._folder = TemporaryDirectory()
        self.folder = Path(self._folder.name)
        """Folder for files that units write."""
        resource_tracker.ensure_running()  # Python starts this process with the first other one and keeps it

    def open(self) -> Pool:
        """A new pool for units of ``bfc_bench.testing.executor_units``."""
        return self.executor.open(do, jobs=self.jobs)

    @property
    def pool(self) -> Pool:
        """The shared pool."""
        if self._shared is None:
            self._shared = self.open()
        return self._shared

    def run(
        self, *units: tuple[str, Any], seconds: float = 60.0, pool: Pool | None = None, groups: Sequence[str] = ()
    ) -> list[Any]:
        """The outcomes of units, in the order of the units. An exception closes the shared pool."""
        outcomes: dict[int, Any] = {}
        try:
            pool = pool or self.pool
            for key, unit in enumerate(units):
                pool.submit(key, unit, Resources(seconds, group=groups[key] if groups else ""))
            for key, outcome in pool.outcomes():
                require(key not in outcomes, f"unit {key} has two outcomes")
                outcomes[key] = outcome
            complete = outcomes.keys() == set(range(len(units)))
            require(complete, f"{len(units)} units have {len(outcomes)} outcomes: {sorted(outcomes)}")
        except BaseException:
            self.close(now=True)
            raise
        return [outcomes[key] for key in range(len(units))]

    def close(self, now: bool = False) -> None:
        """Close the shared pool, if it is open."""
        pool, self._shared = self._shared, None
        if pool is not None:
            pool.close(now)

    def end(self) -> None:
        """Close the shared pool and remove the folder."""
        try:
            self.close(now=True)
        finally:
            self._folder.cleanup()

    def needs_promise(self, promise: Promise) -> None:
        """Skip unless the executor makes this promise."""
        if promise not in self.executor.promises:
            skip(f"it does not promise {promise!r}")

    def needs_other_processes(self) -> None:
        """Skip unless units run in other processes of this machine."""
        if self.executor.place == "session":
            skip("its units run in the session's own process")
        host, *_ = self.run(("tell", None))[0].decode().split()
        if host != socket.gethostname():
            skip(f"its units run on {host}, whose processes cannot be seen from here")

    def require_ended(self, processes: Callable[[], set[int]], when: str) -> None:
        """Fail unless the processes end within ``EXIT_SECONDS``."""
        deadline = time.monotonic() + EXIT_SECONDS
        while (alive := {process for process in processes() if process_start(process)}) and time.monotonic() < deadline:
            time.sleep(0.05)
        require(not alive, f"{when}, {len(alive)} processes are still there after {EXIT_SECONDS:g} s")
