"""An executor that is tried: its pools, with a limit on what may be waited for, and the processes that it starts."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from types import FrameType
from typing import Any

from bfc_bench.executors.base import Executor, Pool, Promise, Resources, UnitFailure
from bfc_bench.testing.exceptions import require, skip
from bfc_bench.testing.executor_units import do, prepare

PATIENCE = 120.0
"""Seconds within which the units of a law must have ended, workers started before included."""
GONE = 20.0
"""Seconds within which processes must have ended when they are told to."""


@dataclass
class PoolTrial:
    """An executor and the pool that its laws share; a law that opens one of its own closes it."""

    executor: Executor
    folder: Path
    """For files of units."""
    jobs: int = 2

    def __post_init__(self) -> None:
        self._shared: Pool | None = None
        resource_tracker.ensure_running()  # Python keeps this process once it has started others

    def open(self) -> Pool:
        """A pool that units of ``bfc_bench.testing.executor_units`` can be submitted to."""
        with within(PATIENCE, "opening a pool"):
            return self.executor.open(do, prepare, self.jobs)

    def begin(self) -> Pool:
        """One with a worker that starts before there are units; skips the law of an executor that has none."""
        with within(PATIENCE, "beginning a pool"):
            pool = self.executor.begin(do, prepare, self.jobs)
        if pool is None:
            skip("it begins nothing before there are units")
        return pool

    @property
    def pool(self) -> Pool:
        """The shared pool."""
        if self._shared is None:
            self._shared = self.open()
        return self._shared

    def run(self, *units: tuple[str, Any], seconds: float = 60.0) -> list[Any]:
        """What becomes of units in the shared pool, in their order. Whatever raises here ends that pool."""
        try:
            return collect(self.pool, units, seconds)
        except BaseException:
            self.close(now=True)
            raise

    def close(self, now: bool = False) -> None:
        """Close the shared pool, if it is open."""
        pool, self._shared = self._shared, None
        if pool is not None:
            with within(PATIENCE, "closing a pool"):
                pool.close(now)

    def promises(self, promise: Promise) -> None:
        """Skip the law unless the executor promises this."""
        if promise not in self.executor.promises:
            skip(f"it does not promise {promise!r}")

    def elsewhere(self) -> None:
        """Skip the law unless units run in other processes of this machine, which can be looked at."""
        if self.executor.place == "session":
            skip("its units run in the session's own process")
        host, *_ = self.run(("tell", None))[0].decode().split()
        if host != socket.gethostname():
            skip(f"its units run on {host}, whose processes cannot be looked at from here")

    def gone(self, processes: Callable[[], set[int]], what: str) -> None:
        """Break the law unless such processes have ended soon."""
        deadline = time.monotonic() + GONE
        while (left := {process for process in processes() if alive(process)}) and time.monotonic() < deadline:
            time.sleep(0.05)
        require(not left, f"{what}, {len(left)} processes are still there after {GONE:g} s")


def collect(pool: Pool, units: tuple[tuple[str, Any], ...], seconds: float = 60.0) -> list[Any]:
    """What becomes of units in a pool, in their order."""
    for key, unit in enumerate(units):
        pool.submit(key, unit, Resources(seconds))
    found: dict[int, Any] = {}
    with within(PATIENCE, f"{len(units)} units"):
        for key, outcome in pool.outcomes():
            require(key not in found, f"unit {key} has two outcomes")
            found[key] = outcome
    require(found.keys() == set(range(len(units))), f"{len(units)} units have {len(found)} outcomes: {sorted(found)}")
    return [found[key] for key in range(len(units))]


def fault(outcome: Any, what: str) -> UnitFailure:
    """The outcome as a fault; breaks the law where it is none."""
    require(isinstance(outcome, UnitFailure), f"{what} must end in a UnitFailure. Got {outcome!r:.200}")
    assert isinstance(outcome, UnitFailure)
    return outcome


def alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return not Path("/proc/self").exists()


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """Break the law where the block takes longer. In a thread that gets no signals it may take as long as it likes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError(f"{what}: did not end within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def interrupted_when(condition: Callable[[], bool]) -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` in the block once the condition holds, as Ctrl-C does; that ends the block."""
    if threading.current_thread() is not threading.main_thread():
        skip("it is not tried in the main thread, which alone is interrupted")

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def watch() -> None:
        deadline = time.monotonic() + PATIENCE
        while not ended.wait(0.05):
            if condition() or time.monotonic() > deadline:
                sent.set()
                os.kill(os.getpid(), signal.SIGUSR1)
                return

    ended, sent, before = threading.Event(), threading.Event(), signal.signal(signal.SIGUSR1, interrupt)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        if not sent.is_set():  # the user's own
            raise
    finally:
        ended.set()
        watcher.join()
        signal.signal(signal.SIGUSR1, before)
