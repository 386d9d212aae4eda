"""A worker process as its session sees it: what it was handed, what it said, what it takes, and how it ended."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from typing import Any

from bfc_bench.executors import pipes
from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.environment import inherited
from bfc_bench.executors.main_script import not_imported_again
from bfc_bench.executors.memory import Memory, family, held_exactly, held_together, memory
from bfc_bench.executors.worker import CLOCK, RAISED, READY, RESULT, work
from bfc_bench.toolkit.precision import Device

START_SECONDS = 300.0
"""What a worker may take to start, and a unit to prepare beyond its own time before it says that its clock starts."""
OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
"""Signals that a process is ended by from outside; those of its own faults are others."""
NEARLY = 0.9
"""Share of the memory allowed that a worker has asked for which crashes because of it: not all code checks what it
gets."""
PATIENCE = 10.0
"""Seconds for which a worker may leave a unit untouched, or take to end when there is nothing more to do."""


@dataclass(frozen=True)
class PoolUnit:
    """Something to do."""

    key: int
    payload: Any
    needs: Resources


class WorkerHandle:
    """A worker process as the session sees it.

    ``environment`` is what it has beside the session's own. ``gpu`` is the one that it computes on, empty on the CPU.
    """

    def __init__(
        self,
        call: Callable[[Any], bytes],
        prepare: Callable[[], object] | None,
        environment: Mapping[str, str],
        gpu: str = "",
    ) -> None:
        self.gpu = gpu
        context = multiprocessing.get_context("spawn")
        units, self._units = context.Pipe(duplex=False)
        self.messages, messages = context.Pipe(duplex=False)
        self.process: SpawnProcess = context.Process(
            target=work, args=(units, messages, os.getpid(), call, prepare), name="bfc-bench worker"
        )
        with inherited(environment), not_imported_again():
            self.process.start()
        assert self.process.pid is not None
        self.group = self.process.pid
        """The group of processes that it leads."""
        units.close()
        messages.close()
        os.set_blocking(self._units.fileno(), False)
        self.inbox = pipes.Inbox(self.messages.fileno())
        self.started = self.ready = False
        self.unit: PoolUnit | None = None
        self.since = time.monotonic()
        """When it was started, or handed its unit."""
        self.clock: float | None = None
        """When the unit's clock started."""
        self.allowed = 0
        """Bytes that the unit may take beyond what its process had ``before``; 0 for any number."""
        self.before = Memory(0, 0)
        self.asked = 0
        """Bytes that the process had asked for beyond that when it was looked at last."""

    @property
    def device(self) -> Device:
        """What its units compute on."""
        return "cuda" if self.gpu else "cpu"

    def take(self, unit: PoolUnit, message: bytes) -> None:
        """Hand it a unit, its payload pickled. Raises ``OSError`` when it does not take it."""
        self.ready, self.unit, self.since, self.clock = False, unit, time.monotonic(), None
        self.allowed = self.asked = 0
        pipes.send(self._units.fileno(), message, patience=PATIENCE)

    def hear(self, kind: bytes, content: bytes) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """Take note of a message; its unit's outcome, where it is one. Raises ``ValueError`` for what is no message."""
        now = time.monotonic()
        if kind == READY and self.unit is None:
            self.started = self.ready = True
        elif kind == CLOCK and self.unit is not None:
            if self.clock is None:
                clock, *granted = json.loads(content)
                # Its own reading, which a slow session does not change, unless it is one that cannot be.
                self.clock = min(max(float(clock), self.since), now)
                if granted:
                    self.allowed, self.before = int(granted[0]), Memory(*map(int, granted[1:]))
        elif kind in (RESULT, RAISED) and self.unit is not None:
            yield self.unit.key, content if kind == RESULT else UnitFailure("raised", *json.loads(content))
            self.unit, self.since = None, now
        else:
            raise ValueError(f"a worker that has {self.unit} must not say {kind!r}")

    def overdue(self, now: float) -> str:
        """Why it shall be stopped, or an empty text."""
        if self.unit is None:
            late = not self.ready and now - self.since > START_SECONDS
            return f"was not ready within {START_SECONDS:g} s" if late else ""
        if self.clock is not None:
            late = now - self.clock > self.unit.needs.seconds
            return f"did not return within {self.unit.needs.seconds:g} s and was stopped" if late else ""
        limit = self.unit.needs.seconds + START_SECONDS
        return f"was not prepared within {limit:g} s and was stopped" if now - self.since > limit else ""

    def excess(self) -> str:
        """Why it shall be stopped for what it and its children hold, or an empty text."""
        if self.unit is None or not self.allowed:
            return ""
        with suppress(OSError):  # it has ended
            self.asked = memory(self.group).asked - self.before.asked
        processes = family(self.group)
        if held_together(processes) - self.before.held <= self.allowed:
            return ""
        taken = held_exactly(processes) - self.before.held
        return f"took {_gb(taken)} of memory; {_gb(self.allowed)} are allowed" if taken > self.allowed else ""

    @property
    def _met_its_limit(self) -> bool:
        """Whether it had asked for nearly all the memory that it may when it was looked at last."""
        return bool(self.allowed) and self.asked > NEARLY * self.allowed

    def fault(self, code: int | None, late: str, excess: str) -> UnitFailure:
        """What has ended its unit together with it: why it was stopped, or its own exit code, if any."""
        if late or excess:
            return UnitFailure("timeout", late) if late else UnitFailure("memory", excess)
        if code is not None and code < 0 and self._met_its_limit:
            return UnitFailure(
                "memory", f"{death(code)} when it had taken nearly all of the {_gb(self.allowed)} allowed"
            )
        return UnitFailure("lost" if code is not None and -code in OUTSIDE else "killed", death(code))

    def finish(self) -> None:
        """Tell it that nothing more comes."""
        self._units.close()

    def wait(self, seconds: float) -> None:
        """Until the process has ended, or ``seconds`` have passed.

        Not by ``join``, which asks a pipe that the process may have closed, or left to a child.
        """
        deadline = time.monotonic() + seconds
        while self.process.exitcode is None and time.monotonic() < deadline:
            time.sleep(0.002)

    def end(self) -> int | None:
        """Kill what is left of it and of what it started; its exit code, where it had one of its own."""
        code = self.process.exitcode
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)
        self.process.kill()
        self.wait(PATIENCE)
        for end in (self._units, self.messages):
            end.close()
        return code


def _gb(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def death(exitcode: int | None) -> str:
    """How a process ended, in words."""
    if exitcode is None:
        return "the worker process closed its connection to the session"
    if exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended itself with exit code {exitcode}"
