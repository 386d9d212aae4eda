"""Watches a worker as the session sees it: its notes, limits and exit code."""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from tempfile import TemporaryFile
from threading import Event
from typing import BinaryIO, TypeAlias

from bfc_bench.executors.base import UnitFailure
from bfc_bench.executors.memory import Memory, dirty, family, memory
from bfc_bench.executors.processes.fork_server import ForkedProcess
from bfc_bench.executors.processes.launch import SpawnedProcess
from bfc_bench.executors.processes.worker import RAISED, RESULT, end_group

TICK = 0.1
"""Seconds between two checks of limits."""
START_SECONDS = 300.0
"""Time limit for a worker to start, and for a unit to prepare, beyond its own limit, before its clock starts."""
PAUSE = 1.0
"""Most seconds between two checks that count. If there are more, the session was stopped (SIGSTOP, ``docker pause``, a
machine that slept), usually with its workers, which could not use that time either."""
OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
"""Signals that come from outside a process, unlike those of its own faults."""
NEARLY = 0.9
"""If a worker crashes after it asked for this fraction of its memory limit, memory counts as the cause, since some code
does not check allocations."""


Start: TypeAlias = Callable[[str, int, int], ForkedProcess | SpawnedProcess]
"""Starts a worker for a unit of a group, with the file descriptors of unit and notes that ``work`` takes."""


class Supervision:
    """A worker and its unit."""

    def __init__(self, start: Start, payload: bytes, seconds: float, group: str) -> None:
        """Start a worker for a pickled payload of a group. Raises ``OSError`` if that is not possible."""
        self._limit = seconds
        self._unit = _file()
        self._unit.write(payload)
        self._unit.seek(0)
        notes, theirs = os.pipe()
        os.set_blocking(notes, False)
        self._notes = os.fdopen(notes, "rb", buffering=0)
        try:
            self._process = start(group, self._unit.fileno(), theirs)
        finally:
            os.close(theirs)
        self._pid = 0
        self._seconds = 0.0
        """Seconds since the start, then since the unit began to prepare, then since its clock started."""
        self._clock = False
        """Whether the unit's clock has started."""
        self._allowed = 0
        """Memory limit of the unit in bytes, beyond what the process had ``before``; 0 for none."""
        self._before = Memory(0, 0)
        self._asked = 0
        """Bytes that the process had asked for beyond ``before`` at the last check."""

    @property
    def started(self) -> bool:
        """Whether the worker has begun."""
        return self._pid > 0

    def run(self, stop: Event) -> bytes | UnitFailure:
        """Wait for the outcome of the unit, once. Ends the worker if it exceeds a limit, or on ``stop``."""
        with self._unit, self._notes:
            notes, looked = self._notes.fileno(), time.monotonic()
            files = [file for file in (notes, self._process.status) if file is not None]
            while (code := self._process.exit_code()) is None:
                if excess := UnitFailure("killed", "stopped") if stop.is_set() else self._late() or self._too_large():
                    self._kill()
                    return excess
                wait(files, TICK)
                if not self._listen() and notes in files:
                    files.remove(notes)
                now = time.monotonic()
                self._seconds, looked = self._seconds + min(now - looked, PAUSE), now
            self._listen()
            self._unit.seek(0)
            outcome = self._unit.read() if code == 0 else b""
        if outcome[:1] == RESULT:
            return outcome[1:]
        return UnitFailure("failed", *json.loads(outcome[1:])) if outcome[:1] == RAISED else self._death(code)

    def _listen(self) -> bool:
        """Read the worker's notes. Returns False if no more can come."""
        received = self._notes.read(1 << 16)  # None if there are none yet
        for line in (received or b"").splitlines():
            match json.loads(line):
                case {"started": int(pid)}:
                    self._pid, self._seconds = pid, 0.0
                case {"clock": True} if not self._clock:
                    self._clock, self._seconds = True, 0.0
                case {"allowed": int(allowed), "held": int(held), "asked": int(asked)}:
                    self._allowed, self._before = allowed, Memory(held, asked)
        return received != b""

    def _late(self) -> UnitFailure | None:
        """Why the worker must be stopped for its time."""
        own = self._limit if self.started else 0.0
        limit = own if self._clock else own + START_SECONDS
        if self._seconds <= limit:
            return None
        missed = "return" if self._clock else "prepare itself" if self.started else "start"
        return UnitFailure("timeout", f"did not {missed} within {limit:g} s and was stopped")

    def _too_large(self) -> UnitFailure | None:
        """Why the worker must be stopped for the memory of it and its children."""
        if not self._allowed:
            return None
        used = 0
        with suppress(OSError):  # it has ended
            if not (now := memory(self._pid)).asked:  # it has ended
                return None
            self._asked = now.asked - self._before.asked
            _, *children = family(self._pid)
            used = now.held - self._before.held + sum(map(dirty, children))
        if used <= self._allowed:
            return None
        return UnitFailure("out-of-memory", f"took {_gb(used)} of memory; {_gb(self._allowed)} are allowed")

    def _kill(self) -> None:
        """Kill the worker and what it has started, and wait until it has ended."""
        if self.started:
            end_group(self._pid)
        else:
            self._process.abandon()
        while self._process.exit_code() is None:
            time.sleep(0.002)

    def _death(self, code: int) -> UnitFailure:
        """The failure of a unit whose worker has ended without an outcome."""
        if code < 0 and self._allowed and self._asked > NEARLY * self._allowed:
            return UnitFailure(
                "out-of-memory", f"{death(code)} when it had taken nearly all of the {_gb(self._allowed)} allowed"
            )
        return UnitFailure("lost" if -code in OUTSIDE else "killed", death(code))


def _file() -> BinaryIO:
    """A file without a name, in memory where the system can do that."""
    return open(os.memfd_create("unit"), "r+b") if hasattr(os, "memfd_create") else TemporaryFile()


def _gb(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def death(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"the worker process ended itself with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    name = names.get(-code, f"signal {-code}")  # most real-time signals have no name
    hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
    return f"the worker process was ended by {name}{hint}"
