"""A pool of worker processes: starts them, gives them units, reads their messages, and stops them at their limits."""

from __future__ import annotations

import os
import select
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from bfc_bench.errors import BenchError
from bfc_bench.executors.base import Resources, UnitFailure, pickled
from bfc_bench.executors.environment import ChangedVariables, worker_variables
from bfc_bench.executors.processes.worker_handle import PATIENCE, PoolUnit, WorkerHandle, death
from bfc_bench.executors.reaper import Reaper
from bfc_bench.executors.watched_clock import WatchedClock
from bfc_bench.toolkit.gpu import gpu_variables, share_of_gpu, visible_gpus
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import is_credential, variables

FAILED_STARTS = 3
"""Number of workers in a row that may end before they are ready, before the pool gives up."""
TICK = 0.1
"""Seconds between two checks of time limits, memory and liveness."""


class ProcessPool:
    """A pool of worker processes: ``jobs`` on the CPU and ``jobs_per_gpu`` on each of ``gpus``."""

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
        self._environment = ChangedVariables()
        self._environment.set(worker_variables())
        self._reaper = Reaper({name: value for name, value in variables().items() if not is_credential(name, value)})
        self._queues: dict[Device, deque[PoolUnit]] = {"cpu": deque()}
        self._unsent: list[tuple[int, UnitFailure]] = []
        """Failures of units whose payload cannot be pickled."""
        self._workers: list[WorkerHandle] = []
        self._poll = select.poll()
        """Watches the pipes of the workers' messages."""
        self._failed_starts, self._last_death = 0, ""
        self._last_check = 0.0
        self._clock = WatchedClock()
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

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue a unit. Its worker is killed after ``needs.seconds`` on the unit's clock.

        Raises ``BenchError`` if it needs a GPU and none is visible.
        """
        if not self.slots(needs.device):
            raise BenchError("executor 'processes': a unit needs a GPU, and none is visible here. Use --device cpu.")
        self._queues.setdefault(needs.device, deque()).append(PoolUnit(key, payload, needs))

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
        finally:
            self._workers = []
            self._reaper.close()
            self._environment.restore()

    def _hand_out(self) -> None:
        """Give units to workers that are ready, and start workers for the remaining units."""
        for device, queue in self._queues.items():
            for worker in [worker for worker in self._workers if worker.ready and worker.device == device]:
                self._give(worker, queue)
            own = [worker for worker in self._workers if worker.device == device]
            starting = sum(worker.unit is None for worker in own)
            for _ in range(min(self.slots(device) - len(own), len(queue) - starting)):
                self._add(device)

    def _add(self, device: Device) -> None:
        """Start a worker."""
        self._workers.append(worker := self._start(device))
        self._poll.register(worker.messages, select.POLLIN)
        self._reaper.watch(worker.group)

    def _give(self, worker: WorkerHandle, queue: deque[PoolUnit]) -> None:
        """Give a worker the next unit that can be pickled, if there is one."""
        while queue:
            unit = queue.popleft()
            if isinstance(message := pickled(unit.payload), UnitFailure):
                self._unsent.append((unit.key, message))
                continue
            try:
                worker.take(unit, message)
            except OSError:  # it ended while idle; another worker gets the unit
                worker.unit = None
                queue.appendleft(unit)
                self._workers.remove(worker)
                self._end(worker)
            return

    def _start(self, device: Device) -> WorkerHandle:
        """A new worker, on the GPU with the fewest. If there are workers on GPUs, those on the CPU see no GPU."""
        if device == "cpu":
            hidden = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"} if "cuda" in self._queues else {}
            return WorkerHandle(self._call, self._prepare, self._clock, hidden)
        taken = Counter(worker.gpu for worker in self._workers)
        gpu = min(self._gpus, key=lambda name: taken[name])
        environment = {
            "CUDA_VISIBLE_DEVICES": gpu,
            **share_of_gpu(self._jobs_per_gpu),
            **gpu_variables(os.environ["XLA_FLAGS"]),
        }
        return WorkerHandle(self._call, self._prepare, self._clock, environment, gpu)

    def _end(self, worker: WorkerHandle) -> int | None:
        """End a worker and its children. Returns its exit code if it had ended by itself, else None."""
        self._poll.unregister(worker.messages)
        code = worker.end()
        self._reaper.forget(worker.group)
        return code

    def _to_read(self) -> tuple[list[WorkerHandle], bool]:
        """Workers that have sent something or, once per tick, all of them; and whether limits are checked too.

        The check finds workers that have ended silently, and those that exceed their limits.
        """
        readable = {file for file, _ in self._poll.poll(1000 * TICK)}
        self._clock.now()
        if (now := time.monotonic()) - self._last_check < TICK:
            return [worker for worker in self._workers if worker.messages.fileno() in readable], False
        self._last_check = now
        return list(self._workers), True

    def _read(self, worker: WorkerHandle, check: bool) -> Iterator[tuple[int, bytes | UnitFailure]]:
        """The outcome of a worker's unit, if it has ended. Removes a worker that has ended or exceeds a limit."""
        alive = worker.process.is_alive()  # before reading, so that no message of a dead process is missed
        try:
            connected = worker.inbox.read()
            for message in worker.inbox.messages():
                yield from worker.hear(message[:1], message[1:])
        except (ValueError, TypeError):  # invalid: a learner has written to the pipe
            connected = False
        if not connected:  # pipes close before the process ends
            worker.wait(5 * TICK)
        late = worker.overdue()
        excess = worker.excess() if check else ""
        if alive and connected and not late and not excess:
            return
        self._workers.remove(worker)
        code = self._end(worker)
        if worker.unit is not None:
            yield worker.unit.key, worker.fault(code, late, excess)
        elif not worker.started:
            self._failed_starts, self._last_death = self._failed_starts + 1, late or death(code)
