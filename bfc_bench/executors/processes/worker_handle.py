"""A worker as the session sees it: its process, unit, messages, limits and exit code."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, TypeAdapter

from bfc_bench.executors import pipes
from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.memory import Memory, family, held_exactly, held_together, memory
from bfc_bench.executors.processes.worker_process import WorkerProcess
from bfc_bench.executors.watched_clock import WatchedClock
from bfc_bench.executors.worker import CLOCK, RAISED, READY, RESULT
from bfc_bench.toolkit.precision import Device

START_SECONDS = 300.0
"""Time limit for a worker to start, and for a unit to prepare, beyond its own limit, before its clock starts."""
OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
"""Signals that come from outside a process, unlike those of its own faults."""
NEARLY = 0.9
"""If a worker crashes after it asked for this fraction of its memory limit, memory counts as the cause, since some code
does not check allocations."""
PATIENCE = 10.0
"""Seconds for a worker to accept a unit, or to end when there are no more units."""

_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
_CLOCK = TypeAdapter(list[float], config=_STRICT)
"""What follows ``CLOCK``: the time, then nothing or the memory limit and what was held, asked for and shared before.
Whatever a learner has written to the pipe in place of a message, reading it raises ``ValueError``."""
_RAISED = TypeAdapter(tuple[str, str], config=_STRICT)


@dataclass(frozen=True)
class PoolUnit:
    """A unit in the queue of a pool."""

    key: int
    payload: Any
    needs: Resources
    share: str
    """Units with equal texts may share a worker."""
    in_new_worker: bool = False
    """Whether its worker must not have run another unit."""


class WorkerHandle:
    """A worker process and its state. ``ready`` tells whether it waits for a unit."""

    def __init__(
        self,
        start: Callable[[int, int], WorkerProcess],
        unit: PoolUnit,
        watch: WatchedClock,
        gpu: str = "",
    ) -> None:
        """Start a worker for a unit, which it is sent once it is ready.

        Args:
            start: Starts a process that runs ``work`` with these file descriptors of units and messages.
            unit: The unit. Later units of the worker have the same ``share``.
            watch: The clock of its limits.
            gpu: The GPU of the worker; empty on the CPU.

        Raises:
            OSError: The process cannot be started.
        """
        self.unit: PoolUnit | None = unit
        self.share, self.gpu, self._watch = unit.share, gpu, watch
        units, self._units = os.pipe()
        self.messages, messages = os.pipe()
        try:
            self.process = start(units, messages)
        except BaseException:
            os.close(self._units)
            os.close(self.messages)
            raise
        finally:
            os.close(units)
            os.close(messages)
        self.pid = self.process.pid
        """Its process id and the id of its process group, which includes processes that it starts."""
        os.set_blocking(self._units, False)
        self.inbox = pipes.Inbox(self.messages)
        self.started = self.ready = False
        self.units = 0
        """Number of units that it was sent."""
        self.since = watch.now()
        """When it was started, or got its unit."""
        self.clock: float | None = None
        """When the unit's clock started."""
        self.allowed = 0
        """Memory limit of the unit in bytes, beyond what the process had ``before``; 0 for none."""
        self.before = Memory(0, 0)
        self.asked = 0
        """Bytes that the process had asked for beyond ``before`` at the last check."""

    @property
    def device(self) -> Device:
        """The device of its units."""
        return "cuda" if self.gpu else "cpu"

    def take(self, unit: PoolUnit, message: bytes) -> None:
        """Send it a unit with its pickled payload. Raises ``OSError`` if the worker does not accept it."""
        self.ready, self.unit, self.since, self.clock = False, unit, self._watch.now(), None
        self.allowed = self.asked = 0
        self.units += 1
        pipes.send(self._units, message, patience=PATIENCE)

    def hear(self, kind: bytes, content: bytes) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """Handle a message; yields the unit's outcome if it is one. Raises ``ValueError`` for an invalid message."""
        now = self._watch.now()
        if kind == READY and (self.unit is None or not self.started):
            self.started = self.ready = True
        elif self.unit is None or not self.started:
            raise ValueError(f"a worker without a unit must not send {kind!r}")
        elif kind == CLOCK:
            if self.clock is None:
                clock, *granted = _CLOCK.validate_json(content)
                # The worker's reading, since the session may be slow; clipped to what is possible.
                self.clock = min(max(self._watch.at(clock), self.since), now)
                if granted:
                    allowed, *before = map(int, granted)
                    self.before, self.allowed = Memory(*before), allowed
        elif kind in (RESULT, RAISED):
            yield self.unit.key, content if kind == RESULT else UnitFailure("raised", *_RAISED.validate_json(content))
            self.unit, self.since = None, now
        else:
            raise ValueError(f"a worker with a unit must not send {kind!r}")

    def overdue(self) -> str:
        """Why the worker must be stopped for its time, or an empty string."""
        now = self._watch.now()
        if self.unit is None or not self.started:
            late = not self.ready and now - self.since > START_SECONDS
            return f"was not ready within {START_SECONDS:g} s" if late else ""
        if self.clock is not None:
            late = now - self.clock > self.unit.needs.seconds
            return f"did not return within {self.unit.needs.seconds:g} s and was stopped" if late else ""
        limit = self.unit.needs.seconds + START_SECONDS
        return f"was not prepared within {limit:g} s and was stopped" if now - self.since > limit else ""

    def excess(self) -> str:
        """Why the worker must be stopped for the memory of its process group, or an empty string."""
        if self.unit is None or not self.allowed:
            return ""
        with suppress(OSError):  # it has ended
            self.asked = memory(self.pid).asked - self.before.asked
        processes = family(self.pid)
        taken = held_together(processes) - self.before.held
        if taken > self.allowed and len(processes) > 1:  # pages that they share have counted several times
            taken = held_exactly(processes) - (self.before.held - self.before.shared)
        return f"took {_gb(taken)} of memory; {_gb(self.allowed)} are allowed" if taken > self.allowed else ""

    @property
    def _met_its_limit(self) -> bool:
        """Whether it had asked for nearly all the memory of its limit at the last check."""
        return bool(self.allowed) and self.asked > NEARLY * self.allowed

    def fault(self, code: int | None, late: str, excess: str) -> UnitFailure:
        """The failure of its unit, after the worker has ended.

        Args:
            code: Exit code of the worker; None if it had not ended by itself.
            late: Why it was stopped for its time, or empty.
            excess: Why it was stopped for its memory, or empty.
        """
        if late or excess:
            return UnitFailure("timeout", late) if late else UnitFailure("memory", excess)
        if code is not None and code < 0 and self._met_its_limit:
            return UnitFailure(
                "memory", f"{death(code)} when it had taken nearly all of the {_gb(self.allowed)} allowed"
            )
        return UnitFailure("lost" if code is not None and -code in OUTSIDE else "killed", death(code))

    def finish(self) -> None:
        """Tell the worker that there are no more units for it."""
        self.ready = False
        if self._units >= 0:
            os.close(self._units)
            self._units = -1

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended, for at most ``seconds``."""
        deadline = time.monotonic() + seconds
        while self.process.exit_code() is None and time.monotonic() < deadline:
            time.sleep(0.002)

    def end(self) -> int | None:
        """Kill the worker and what it has started. Returns its exit code if it had ended by itself, else None."""
        code = self.process.exit_code()
        for process in family(self.pid) if code is None else ():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait(PATIENCE)
        self.process.forget()
        self.finish()
        os.close(self.messages)
        return code


def _gb(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def death(exitcode: int | None) -> str:
    """How a process ended, in words."""
    if exitcode is None:
        return "the worker process closed its connection to the session"
    if exitcode < 0:
        known = {number.value: number.name for number in signal.Signals}
        name = known.get(-exitcode, f"signal {-exitcode}")  # most real-time signals have no name
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended itself with exit code {exitcode}"
