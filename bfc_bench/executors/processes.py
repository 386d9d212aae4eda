"""Runs units in spawned processes with one thread each: one process, two pipes and one unit at a time per worker.

A unit that exceeds its time is killed with its worker; the death of a worker, whatever the cause and the exit code,
fails only the unit that it was running. Nothing is shared between workers, so that none can hold up another: no lock,
no queue that a dying process may leave half written. Workers are spawned, never forked, since JAX and CUDA do not
survive a fork.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from typing import Any

from bfc_bench.errors import BenchError
from bfc_bench.executors import pipes
from bfc_bench.executors.base import Fault
from bfc_bench.executors.guard import Guard
from bfc_bench.executors.memory import Memory, family, held_exactly, held_together, memory
from bfc_bench.executors.worker import CLOCK, RAISED, READY, RESULT, work
from bfc_bench.masking import is_credential

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Every numerical library reads its thread count from here when it is loaded."""
ENVIRONMENT = {**ONE_THREAD, "MALLOC_MMAP_THRESHOLD_": str(2**26), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
"""Environment of a worker. GNU's C library keeps that much freed memory for the next arrays: fresh pages for every
array cost as much as what is computed in it."""


START_SECONDS = 300.0
"""What a worker may take to start, and a unit to prepare beyond its own time before it says that its clock starts."""
FAILED_STARTS = 3
"""Workers in a row that end before they are ready, after which no more are started."""
TICK = 0.1
"""Seconds between two looks at clocks and at who is alive."""
OUTSIDE = (signal.SIGKILL, signal.SIGTERM)
"""Signals that a process is ended by from outside; those of its own faults are others."""
NEARLY = 0.9
"""Share of the memory allowed that a worker has asked for which crashes because of it: not all code checks what it
gets."""
PATIENCE = 10.0
"""Seconds for which a worker may leave a unit untouched, or take to end when there is nothing more to do."""


class ProcessExecutor:
    """Runs units in spawned processes with one thread each, and stops those that exceed their time."""

    enforces_limits = True

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def open(self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None) -> ProcessPool:
        """A pool of ``jobs`` workers that apply ``call``, which gives bytes; each runs ``prepare`` first."""
        return ProcessPool(call, self.jobs, prepare)


@dataclass(frozen=True)
class Unit:
    """Something to do."""

    key: int
    payload: Any
    seconds: float


class Worker:
    """A worker process as the session sees it."""

    def __init__(self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None) -> None:
        context = multiprocessing.get_context("spawn")
        units, self._units = context.Pipe(duplex=False)
        self.messages, messages = context.Pipe(duplex=False)
        self.process: SpawnProcess = context.Process(
            target=work, args=(units, messages, os.getpid(), call, prepare), name="bfc-bench worker"
        )
        with _credentials_kept():
            self.process.start()
        assert self.process.pid is not None
        self.group = self.process.pid
        """The group of processes that it leads."""
        units.close()
        messages.close()
        os.set_blocking(self._units.fileno(), False)
        self.inbox = pipes.Inbox(self.messages.fileno())
        self.started = self.ready = False
        self.unit: Unit | None = None
        self.since = time.monotonic()
        """When it was started, or handed its unit."""
        self.clock: float | None = None
        """When the unit's clock started."""
        self.allowed = 0
        """Bytes that the unit may take beyond what its process had ``before``; 0 for any number."""
        self.before = Memory(0, 0)
        self.asked = 0
        """Bytes that the process had asked for beyond that when it was looked at last."""

    def take(self, unit: Unit) -> None:
        """Hand it a unit. Raises ``OSError`` when it does not take it."""
        self.ready, self.unit, self.since, self.clock = False, unit, time.monotonic(), None
        self.allowed = self.asked = 0
        pipes.send(self._units.fileno(), pickle.dumps(unit.payload), patience=PATIENCE)

    def hear(self, kind: bytes, content: bytes) -> Iterator[tuple[int, bytes | Fault]]:
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
            yield self.unit.key, content if kind == RESULT else Fault("raised", *json.loads(content))
            self.unit, self.since = None, now
        else:
            raise ValueError(f"a worker that has {self.unit} must not say {kind!r}")

    def overdue(self, now: float) -> str:
        """Why it shall be stopped, or an empty text."""
        if self.unit is None:
            late = not self.ready and now - self.since > START_SECONDS
            return f"was not ready within {START_SECONDS:g} s" if late else ""
        if self.clock is not None:
            late = now - self.clock > self.unit.seconds
            return f"did not return within {self.unit.seconds:g} s and was stopped" if late else ""
        limit = self.unit.seconds + START_SECONDS
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
    def met_its_limit(self) -> bool:
        """Whether it had asked for nearly all the memory that it may when it was looked at last."""
        return bool(self.allowed) and self.asked > NEARLY * self.allowed

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


class ProcessPool:
    """An open pool of worker processes."""

    def __init__(self, call: Callable[[Any], bytes], jobs: int, prepare: Callable[[], object] | None = None) -> None:
        self._call, self._jobs, self._prepare = call, jobs, prepare
        self._environment = {name: os.environ.get(name) for name in ENVIRONMENT}
        os.environ.update(ENVIRONMENT)
        if xla_flags := self._environment["XLA_FLAGS"]:
            os.environ["XLA_FLAGS"] = f"{xla_flags} {ONE_THREAD['XLA_FLAGS']}"
        self._guard = Guard({name: value for name, value in os.environ.items() if not is_credential(name, value)})
        self._queue: deque[Unit] = deque()
        self._workers: list[Worker] = []
        self._news = select.poll()
        """Of the workers' messages."""
        self._failed_starts, self._last_death = 0, ""
        self._looked = 0.0

    def submit(self, key: int, payload: Any, seconds: float) -> None:
        """Queue one unit; its worker is killed when ``seconds`` have passed on its clock."""
        self._queue.append(Unit(key, payload, seconds))

    def outcomes(self) -> Iterator[tuple[int, bytes | Fault]]:
        """(key, result or Fault) in the order in which units end. Raises ``BenchError`` when workers cannot start."""
        self._hand_out()
        while self._queue or any(worker.unit for worker in self._workers):
            workers, look = self._with_news()
            ended = [outcome for worker in workers for outcome in self._hear(worker, look)]
            self._hand_out()  # nobody waits while the session is busy with what has ended
            yield from ended
            if self._failed_starts >= FAILED_STARTS:
                raise BenchError(
                    f"{self._failed_starts} worker processes in a row ended before they could work, the last one "
                    f"because {self._last_death}. Try `--executor serial`, which shows why."
                )
            self._hand_out()

    def close(self, now: bool = False) -> None:
        """Wait for the workers to end; with ``now`` stop them."""
        try:
            for worker in () if now else self._workers:
                worker.finish()
            deadline = time.monotonic() + PATIENCE
            for worker in () if now else self._workers:
                worker.wait(deadline - time.monotonic())
            for worker in self._workers:
                self._end(worker)
        finally:
            self._workers = []
            self._guard.close()
            for name, value in self._environment.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def _hand_out(self) -> None:
        """Give units to those who are ready, and start workers where there are units for more."""
        for worker in [worker for worker in self._workers if worker.ready]:
            if not self._queue:
                return
            unit = self._queue.popleft()
            try:
                worker.take(unit)
            except OSError:  # it ended while it had nothing to do; the unit is another's
                worker.unit = None
                self._queue.appendleft(unit)
                self._workers.remove(worker)
                self._end(worker)
        starting = sum(worker.unit is None for worker in self._workers)
        for _ in range(min(self._jobs - len(self._workers), len(self._queue) - starting)):
            self._workers.append(worker := Worker(self._call, self._prepare))
            self._news.register(worker.messages, select.POLLIN)
            self._guard.watch(worker.group)

    def _end(self, worker: Worker) -> int | None:
        """End a worker and what it started; its exit code, where it had one of its own."""
        self._news.unregister(worker.messages)
        code = worker.end()
        self._guard.forget(worker.group)
        return code

    def _with_news(self) -> tuple[list[Worker], bool]:
        """Those who have sent something, or everybody at each tick, and whether this is one.

        A process may end without a word, or hold more than it may.
        """
        heard = {file for file, _ in self._news.poll(1000 * TICK)}
        if (now := time.monotonic()) - self._looked < TICK:
            return [worker for worker in self._workers if worker.messages.fileno() in heard], False
        self._looked = now
        return list(self._workers), True

    def _hear(self, worker: Worker, look: bool) -> Iterator[tuple[int, bytes | Fault]]:
        """What has become of a worker's unit, if anything has; a worker that has ended, or must, is gone after it."""
        alive = worker.process.is_alive()  # before the last look at what it sent
        try:
            connected = worker.inbox.read()
            for message in worker.inbox.messages():
                yield from worker.hear(message[:1], message[1:])
        except (ValueError, TypeError):  # a learner has written to its pipe
            connected = False
        if not connected:  # the end of a process follows the end of its pipes
            worker.wait(5 * TICK)
        late = worker.overdue(time.monotonic())
        excess = worker.excess() if look else ""
        if alive and connected and not late and not excess:
            return
        self._workers.remove(worker)
        code = self._end(worker)
        if worker.unit is not None:
            yield worker.unit.key, _fault(worker, code, late, excess)
        elif not worker.started:
            self._failed_starts, self._last_death = self._failed_starts + 1, late or _death(code)


@contextmanager
def _credentials_kept() -> Iterator[None]:
    """Inside, no process that is started gets credentials; ``os.environ`` stays what it is, for MLflow's thread."""
    kept = [(name, value) for name, value in os.environ.items() if is_credential(name, value)]
    try:
        for name, _ in kept:
            os.unsetenv(name)
        yield
    finally:
        for name, value in kept:
            os.putenv(name, value)


def _fault(worker: Worker, code: int | None, late: str, excess: str) -> Fault:
    """What has ended a unit together with its worker, whose own exit code, if any, is ``code``."""
    if late or excess:
        return Fault("timeout", late) if late else Fault("memory", excess)
    if code is not None and code < 0 and worker.met_its_limit:
        return Fault("memory", f"{_death(code)} when it had taken nearly all of the {_gb(worker.allowed)} allowed")
    return Fault("lost" if code is not None and -code in OUTSIDE else "killed", _death(code))


def _gb(count: int) -> str:
    return f"{count / 1e9:.3g} GB"


def _death(exitcode: int | None) -> str:
    if exitcode is None:
        return "the worker process closed its connection to the session"
    if exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (the system may have run out of memory)" if name == "SIGKILL" else ""
        return f"the worker process was ended by {name}{hint}"
    return f"the worker process ended itself with exit code {exitcode}"
