"""Runs units in spawned processes with one thread each: one process, two pipes and one unit at a time per worker.

A unit that exceeds its time is killed with its worker; the death of a worker, whatever the cause and the exit code,
fails only the unit that it was running. Nothing is shared between workers, so that none can hold up another: no lock,
no queue that a dying process may leave half written. Workers are spawned, never forked, since JAX and CUDA do not
survive a fork.

Units that compute on a GPU have workers of their own, so many for each GPU, beside those on the cores.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import select
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.context import SpawnProcess
from typing import Any, ClassVar

from pydantic import PositiveInt

from bfc_bench.errors import BenchError
from bfc_bench.executors import pipes
from bfc_bench.executors.base import Executor, Fault, Needs, Pool, Promise, pickled, usable_cores
from bfc_bench.executors.guard import Guard
from bfc_bench.executors.memory import Memory, family, held_exactly, held_together, memory
from bfc_bench.executors.script import not_imported_again
from bfc_bench.executors.worker import CLOCK, RAISED, READY, RESULT, work
from bfc_bench.masking import is_credential, variables
from bfc_bench.toolkit.precision import Device, share_of_gpu, visible_gpus

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


class ProcessExecutor(Executor):
    """Runs units in spawned processes with one thread each, and stops those that exceed their time."""

    name: ClassVar[str] = "processes"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death"})
    threads: ClassVar[int | None] = 1

    gpus: list[int | str] | None = None
    """GPUs to use, as ``CUDA_VISIBLE_DEVICES`` names them; left out, all that this process sees."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""

    def open(
        self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool:
        """A pool of workers that apply ``call``, which gives bytes; each runs ``prepare`` first."""
        gpus = None if self.gpus is None else list(map(str, self.gpus))
        return ProcessPool(call, jobs or usable_cores(), prepare, gpus, self.jobs_per_gpu)

    def begin(
        self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool:
        """Such a pool with a first worker on the CPU; of a subclass that has pools of another kind, one of these."""
        pool = self.open(call, prepare, jobs)
        if isinstance(pool, ProcessPool):
            pool.begin()
        return pool


@dataclass(frozen=True)
class Unit:
    """Something to do."""

    key: int
    payload: Any
    needs: Needs


class Worker:
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
        with _environment(environment), not_imported_again():
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

    @property
    def device(self) -> Device:
        """What its units compute on."""
        return "cuda" if self.gpu else "cpu"

    def take(self, unit: Unit, message: bytes) -> None:
        """Hand it a unit, its payload pickled. Raises ``OSError`` when it does not take it."""
        self.ready, self.unit, self.since, self.clock = False, unit, time.monotonic(), None
        self.allowed = self.asked = 0
        pipes.send(self._units.fileno(), message, patience=PATIENCE)

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
    """An open pool of worker processes: ``jobs`` on the CPU and ``jobs_per_gpu`` on each of ``gpus``."""

    def __init__(
        self,
        call: Callable[[Any], bytes],
        jobs: int,
        prepare: Callable[[], object] | None = None,
        gpus: list[str] | None = None,
        jobs_per_gpu: int = 1,
    ) -> None:
        self._call, self._jobs, self._prepare = call, jobs, prepare
        self._named_gpus, self._jobs_per_gpu = gpus, jobs_per_gpu
        self._environment = {name: os.environ.get(name) for name in ENVIRONMENT}
        os.environ.update(ENVIRONMENT)
        if xla_flags := self._environment["XLA_FLAGS"]:
            os.environ["XLA_FLAGS"] = f"{xla_flags} {ONE_THREAD['XLA_FLAGS']}"
        self._guard = Guard({name: value for name, value in variables().items() if not is_credential(name, value)})
        self._queues: dict[Device, deque[Unit]] = {"cpu": deque()}
        self._unsent: list[tuple[int, Fault]] = []
        """Of units whose payload cannot be sent."""
        self._workers: list[Worker] = []
        self._news = select.poll()
        """Of the workers' messages."""
        self._failed_starts, self._last_death = 0, ""
        self._looked = 0.0
        self._closed = False

    @cached_property
    def _gpus(self) -> list[str]:
        return visible_gpus() if self._named_gpus is None else self._named_gpus

    def slots(self, device: Device) -> int:
        """The number of workers on the CPU, or on all GPUs together."""
        return self._jobs if device == "cpu" else len(self._gpus) * self._jobs_per_gpu

    def begin(self) -> None:
        """Start a worker on the CPU before there are units."""
        self._add("cpu")

    def submit(self, key: int, payload: Any, needs: Needs) -> None:
        """Queue one unit; its worker is killed when ``needs.seconds`` have passed on its clock.

        Raises ``BenchError`` for one that needs a GPU where there is none.
        """
        if not self.slots(needs.device):
            raise BenchError("executor 'processes': a unit needs a GPU, and none is visible here. Use --device cpu.")
        self._queues.setdefault(needs.device, deque()).append(Unit(key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, bytes | Fault]]:
        """(key, result or Fault) in the order in which units end. Raises ``BenchError`` when workers cannot start."""
        self._hand_out()
        while any(self._queues.values()) or self._unsent or any(worker.unit for worker in self._workers):
            while self._unsent:
                yield self._unsent.pop()
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
        if self._closed:
            return
        self._closed = True
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
        for device, queue in self._queues.items():
            for worker in [worker for worker in self._workers if worker.ready and worker.device == device]:
                self._give(worker, queue)
            own = [worker for worker in self._workers if worker.device == device]
            starting = sum(worker.unit is None for worker in own)
            for _ in range(min(self.slots(device) - len(own), len(queue) - starting)):
                self._add(device)

    def _add(self, device: Device) -> None:
        """Start one more worker."""
        self._workers.append(worker := self._start(device))
        self._news.register(worker.messages, select.POLLIN)
        self._guard.watch(worker.group)

    def _give(self, worker: Worker, queue: deque[Unit]) -> None:
        """Hand a worker the next unit that can be sent, if there is one."""
        while queue:
            unit = queue.popleft()
            if isinstance(message := pickled(unit.payload), Fault):
                self._unsent.append((unit.key, message))
                continue
            try:
                worker.take(unit, message)
            except OSError:  # it ended while it had nothing to do; the unit is another's
                worker.unit = None
                queue.appendleft(unit)
                self._workers.remove(worker)
                self._end(worker)
            return

    def _start(self, device: Device) -> Worker:
        """A new worker, on the GPU that has the fewest. Beside workers on GPUs those on the CPU see none."""
        if device == "cpu":
            hidden = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"} if "cuda" in self._queues else {}
            return Worker(self._call, self._prepare, hidden)
        taken = Counter(worker.gpu for worker in self._workers)
        gpu = min(self._gpus, key=lambda name: taken[name])
        environment = {"CUDA_VISIBLE_DEVICES": gpu, **share_of_gpu(self._jobs_per_gpu)}
        return Worker(self._call, self._prepare, environment, gpu)

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
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Inside, what is started gets ``values`` and no credentials; ``os.environ`` stays what it is, for MLflow."""
    kept = [(name, value) for name, value in variables().items() if is_credential(name, value)]
    try:
        for name, _ in kept:
            os.unsetenv(name)
        for name, value in values.items():
            os.putenv(name, value)
        yield
    finally:
        for name in values:
            os.unsetenv(name)
        kept += [(name, os.environ[name]) for name in values if name in os.environ]
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
