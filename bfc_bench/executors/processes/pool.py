"""A pool of worker processes: starts them, gives them units, reads their messages, and stops them at their limits.

Units of different groups never share a worker, so that nothing that one group leaves in its process reaches another.
"""

from __future__ import annotations

import select
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import inf
from typing import Any, Literal

from bfc_bench.errors import BenchError, describe_error
from bfc_bench.executors.base import Preload, Resources, UnitFailure, pickled
from bfc_bench.executors.environment import NO_GPU, worker_variables
from bfc_bench.executors.processes.fork_server import ForkServer
from bfc_bench.executors.processes.worker_handle import PATIENCE, START_SECONDS, PoolUnit, WorkerHandle, death
from bfc_bench.executors.processes.worker_process import CAN_FORK, SpawnedProcess, WorkerProcess
from bfc_bench.executors.reaper import Reaper
from bfc_bench.executors.watched_clock import WatchedClock
from bfc_bench.toolkit.gpu import gpu_variables, share_of_gpu, visible_gpus
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import without_credentials

FAILED_STARTS = 3
"""Number of workers in a row that may end before they are ready, before the pool gives up."""
IDLE = 2
"""Idle workers that are kept for later units of their groups, per slot."""
TICK = 0.1
"""Seconds between two checks of time limits, memory and liveness."""

Isolation = Literal["learner", "unit"]
"""Whether units of one group, which are of one learner, share processes (``learner``), or each unit has its own."""


@dataclass(frozen=True)
class PoolOptions:
    """How many workers a pool has, and how they start."""

    jobs: int
    """Workers on the CPU."""
    gpus: list[str] | None = None
    """GPUs to use, as ``CUDA_VISIBLE_DEVICES`` names them; None for all that this process sees."""
    jobs_per_gpu: int = 1
    """Workers that share a GPU and its memory."""
    isolation: Isolation = "learner"
    fork: bool = CAN_FORK
    """Whether workers on the CPU are forked from a process that has imported what units need. CUDA does not survive a
    fork, so workers on GPUs always start anew."""


class ProcessPool:
    """A pool of worker processes on the CPU and on each GPU."""

    def __init__(
        self,
        call: Callable[[Any], bytes],
        options: PoolOptions,
        preload: Preload | None = None,
    ) -> None:
        """Start the process from which workers are forked.

        Args:
            call: Picklable function from payload to result, which workers apply.
            options: How many workers there are, and how they start.
            preload: By group of units, a picklable function that imports what they need. Its errors are ignored.
        """
        self._call, self._options = call, options
        self._variables = {**without_credentials(), **worker_variables()}
        self._reaper = Reaper(self._variables)
        self._queues: dict[Device, deque[PoolUnit]] = {"cpu": deque()}
        self._groups: dict[str, None] = {}
        """Groups in the order of their first units, whose libraries the fork server has not been told to import."""
        self._unsent: list[tuple[int, UnitFailure]] = []
        """Failures of units whose payload cannot be pickled."""
        self._workers: list[WorkerHandle] = []
        self._poll = select.poll()
        """Watches the pipes of the workers' messages, and the fork server."""
        self._failed_starts, self._last_death = 0, ""
        self._last_check = 0.0
        self._clock = WatchedClock()
        self._closed = False
        self._server: ForkServer | None = None
        self._retired: list[ForkServer] = []
        """Fork servers whose imports started threads; their workers are still used."""
        if options.fork and options.jobs:
            self._watch_server(ForkServer(call, preload or {}, {**self._variables, **NO_GPU}))

    @cached_property
    def _gpus(self) -> list[str]:
        return visible_gpus() if self._options.gpus is None else self._options.gpus

    def slots(self, device: Device) -> int:
        """The number of workers on the CPU, or on all GPUs together."""
        return self._options.jobs if device == "cpu" else len(self._gpus) * self._options.jobs_per_gpu

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue a unit. Its worker is killed after ``needs.seconds`` on the unit's clock.

        Raises ``BenchError`` if it needs a GPU and none is visible.
        """
        if not self.slots(needs.device):
            raise BenchError("executor 'processes': a unit needs a GPU, and none is visible here. Use --device cpu.")
        if needs.device == "cpu":
            self._groups[needs.group] = None
        share = str(key) if self._options.isolation == "unit" else needs.group
        self._queues.setdefault(needs.device, deque()).append(PoolUnit(key, payload, needs, share))

    def outcomes(self) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """(key, result or UnitFailure) of units as they end. Raises ``BenchError`` if workers cannot start."""
        self._hand_out()
        while any(self._queues.values()) or self._unsent or any(worker.unit for worker in self._workers):
            while self._unsent:
                yield self._unsent.pop()
            workers, check = self._to_read()
            ended = [outcome for worker in workers for outcome in self._read(worker, check)]
            self._hand_out()  # before ``yield``, so that no worker waits while the session handles outcomes
            yield from ended
            if self._failed_starts >= FAILED_STARTS:
                raise BenchError(
                    f"{self._failed_starts} worker processes in a row ended before they could work, the last one "
                    f"because {self._last_death}. Try `--executor serial`, which shows why."
                )
            self._hand_out()

    def close(self, now: bool = False) -> None:
        """Wait for the workers to end, or stop them ``now``."""
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
            for server in (*self._retired, *([self._server] if self._server else [])):
                server.close()
        finally:
            self._workers = []
            self._reaper.close()

    def _hand_out(self) -> None:
        """Send units to workers that are ready, and start workers for the remaining units."""
        for device, queue in self._queues.items():
            own = [worker for worker in self._workers if worker.device == device]
            for worker in own:
                if worker.ready and worker.unit is not None:  # it was started for this unit
                    self._give(worker, worker.unit)
            free = self.slots(device) - sum(worker.unit is not None for worker in own)
            while queue and free > 0:
                unit = queue[0]
                idle = [w for w in own if w.ready and w.unit is None and w.share == unit.share]
                if idle and not unit.in_new_worker:
                    self._give(idle[0], queue.popleft())
                elif not self._add(device, queue):
                    break
                free -= 1
            self._end_surplus([worker for worker in own if worker.ready and worker.unit is None], device, queue)
        self._prepare()

    def _prepare(self) -> None:
        """Have the fork server import what the next units need, if it is idle and lacks that."""
        if self._server is None or not self._server.idle:
            return
        for group in (*(unit.needs.group for unit in islice(self._queues["cpu"], 1)), *self._groups):
            if not self._server.has(group):
                self._groups.pop(group, None)
                self._server.prepare(group)
                return

    def _give(self, worker: WorkerHandle, unit: PoolUnit) -> None:
        """Send a worker a unit. A unit that cannot be pickled fails; if the worker has ended, the unit waits again."""
        if isinstance(message := pickled(unit.payload), UnitFailure):
            self._unsent.append((unit.key, message))
            worker.unit = None
            return
        try:
            worker.take(unit, message)
        except OSError:  # it ended while idle
            worker.unit = None
            self._queues[unit.needs.device].appendleft(unit)
            self._workers.remove(worker)
            self._end(worker)

    def _add(self, device: Device, queue: deque[PoolUnit]) -> bool:
        """Start a worker for the first unit of a queue. Returns whether that was possible."""
        start, gpu = self._starter(device, queue[0].needs.group)
        if start is None:
            return False
        try:
            worker = WorkerHandle(start, queue[0], self._clock, gpu)
        except OSError as error:
            self._failed_starts, self._last_death = self._failed_starts + 1, describe_error(error)
            return False
        queue.popleft()
        self._workers.append(worker)
        self._poll.register(worker.messages, select.POLLIN)
        self._reaper.watch(worker.pid)
        return True

    def _starter(self, device: Device, group: str) -> tuple[Callable[[int, int], WorkerProcess] | None, str]:
        """How to start a worker of a group now, None if the fork server cannot yet; and its GPU, with the fewest."""
        if device == "cpu":
            if self._server is None:
                return self._spawn(NO_GPU), ""
            return self._server.fork if self._server.idle and self._server.has(group) else None, ""
        taken = Counter(worker.gpu for worker in self._workers)
        gpu = min(self._gpus, key=lambda name: taken[name])
        share = share_of_gpu(self._options.jobs_per_gpu)
        return self._spawn({"CUDA_VISIBLE_DEVICES": gpu, **share, **gpu_variables(self._variables["XLA_FLAGS"])}), gpu

    def _spawn(self, variables: Mapping[str, str]) -> Callable[[int, int], WorkerProcess]:
        environment = {**self._variables, **variables}
        return lambda units, messages: SpawnedProcess(self._call, environment, units, messages)

    def _end_surplus(self, idle: list[WorkerHandle], device: Device, queue: deque[PoolUnit]) -> None:
        """End idle workers that are too many, first those whose group comes last in the queue or not at all."""
        surplus = len(idle) - (0 if self._options.isolation == "unit" else IDLE * self.slots(device))
        if surplus > 0:
            first: dict[str, int] = {}
            for number, unit in enumerate(queue):
                first.setdefault(unit.share, number)
            for worker in sorted(idle, key=lambda worker: first.get(worker.share, inf))[-surplus:]:
                worker.finish()

    def _end(self, worker: WorkerHandle) -> int | None:
        """End a worker and its children. Returns its exit code if it had ended by itself, else None."""
        self._poll.unregister(worker.messages)
        code = worker.end()
        self._reaper.forget(worker.pid)
        return code

    def _to_read(self) -> tuple[list[WorkerHandle], bool]:
        """Workers that have sent something or, once per tick, all of them; and whether limits are checked too.

        The check finds workers that have ended silently, and those that exceed their limits.
        """
        readable = {file for file, _ in self._poll.poll(1000 * TICK)}
        self._clock.now()
        if self._server is not None:
            self._update(self._server)
        if (now := time.monotonic()) - self._last_check < TICK:
            return [worker for worker in self._workers if worker.messages in readable], False
        self._last_check = now
        return list(self._workers), True

    def _watch_server(self, server: ForkServer) -> None:
        self._server = server
        self._poll.register(server.fileno(), select.POLLIN)
        self._reaper.watch(server.pid)
        self._server_since = self._clock.now()

    def _update(self, server: ForkServer) -> None:
        """Hear the fork server. Replace it if it has ended, has threads, or is busy for too long."""
        running = server.update()
        if server.idle:
            self._server_since = self._clock.now()
        late = self._clock.now() - self._server_since > START_SECONDS
        if running and not late and not server.threaded:
            return
        self._poll.unregister(server.fileno())
        self._server = None
        if running and not late:
            self._retired.append(server)
        else:
            self._reaper.forget(server.pid)
            server.close()
        if (successor := server.successor()) is not None:  # otherwise workers start anew, and show what is wrong
            self._watch_server(successor)

    def _read(self, worker: WorkerHandle, check: bool) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """The outcome of a worker's unit, if it has ended. Removes a worker that has ended or exceeds a limit."""
        alive = worker.process.exit_code() is None  # before reading, so that no message of a dead process is missed
        try:
            connected = worker.inbox.read()
            for message in worker.inbox.messages():
                yield from worker.hear(message[:1], message[1:])
        except (ValueError, TypeError):  # invalid: a learner has written to the pipe
            connected = False
        if worker.ready:
            self._failed_starts = 0
        if not connected:  # pipes close before the process ends
            worker.wait(5 * TICK)
        late = worker.overdue()
        excess = worker.excess() if check else ""
        if alive and connected and not late and not excess:
            return
        self._workers.remove(worker)
        code = self._end(worker)
        unit = worker.unit
        if not worker.started:
            self._failed_starts, self._last_death = self._failed_starts + 1, late or death(code)
        if unit is None:
            return
        failure = worker.fault(code, late, excess)
        if not worker.started or (failure.kind == "killed" and worker.units > 1 and not unit.in_new_worker):
            # It was not sent, or an earlier unit may have left what ended the process.
            self._queues[unit.needs.device].appendleft(replace(unit, in_new_worker=True))
        else:
            yield unit.key, failure
