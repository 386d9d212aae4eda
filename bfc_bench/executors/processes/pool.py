"""A pool of worker processes: it starts them, hands units out, hears what becomes of these, and stops who must be."""

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
from bfc_bench.toolkit.gpu import gpu_variables, share_of_gpu, visible_gpus
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import is_credential, variables

FAILED_STARTS = 3
"""Workers in a row that end before they are ready, after which no more are started."""
TICK = 0.1
"""Seconds between two looks at clocks and at who is alive."""


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
        self._environment = ChangedVariables()
        self._environment.set(worker_variables())
        self._guard = Reaper({name: value for name, value in variables().items() if not is_credential(name, value)})
        self._queues: dict[Device, deque[PoolUnit]] = {"cpu": deque()}
        self._unsent: list[tuple[int, UnitFailure]] = []
        """Of units whose payload cannot be sent."""
        self._workers: list[WorkerHandle] = []
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

    def submit(self, key: int, payload: Any, needs: Resources) -> None:
        """Queue one unit; its worker is killed when ``needs.seconds`` have passed on its clock.

        Raises ``BenchError`` for one that needs a GPU where there is none.
        """
        if not self.slots(needs.device):
            raise BenchError("executor 'processes': a unit needs a GPU, and none is visible here. Use --device cpu.")
        self._queues.setdefault(needs.device, deque()).append(PoolUnit(key, payload, needs))

    def outcomes(self) -> Iterator[tuple[int, bytes | UnitFailure]]:
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
            self._environment.restore()

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

    def _give(self, worker: WorkerHandle, queue: deque[PoolUnit]) -> None:
        """Hand a worker the next unit that can be sent, if there is one."""
        while queue:
            unit = queue.popleft()
            if isinstance(message := pickled(unit.payload), UnitFailure):
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

    def _start(self, device: Device) -> WorkerHandle:
        """A new worker, on the GPU that has the fewest. Beside workers on GPUs those on the CPU see none."""
        if device == "cpu":
            hidden = {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"} if "cuda" in self._queues else {}
            return WorkerHandle(self._call, self._prepare, hidden)
        taken = Counter(worker.gpu for worker in self._workers)
        gpu = min(self._gpus, key=lambda name: taken[name])
        environment = {
            "CUDA_VISIBLE_DEVICES": gpu,
            **share_of_gpu(self._jobs_per_gpu),
            **gpu_variables(os.environ["XLA_FLAGS"]),
        }
        return WorkerHandle(self._call, self._prepare, environment, gpu)

    def _end(self, worker: WorkerHandle) -> int | None:
        """End a worker and what it started; its exit code, where it had one of its own."""
        self._news.unregister(worker.messages)
        code = worker.end()
        self._guard.forget(worker.group)
        return code

    def _with_news(self) -> tuple[list[WorkerHandle], bool]:
        """Those who have sent something, or everybody at each tick, and whether this is one.

        A process may end without a word, or hold more than it may.
        """
        heard = {file for file, _ in self._news.poll(1000 * TICK)}
        if (now := time.monotonic()) - self._looked < TICK:
            return [worker for worker in self._workers if worker.messages.fileno() in heard], False
        self._looked = now
        return list(self._workers), True

    def _hear(self, worker: WorkerHandle, look: bool) -> Iterator[tuple[int, bytes | UnitFailure]]:
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
            yield worker.unit.key, worker.fault(code, late, excess)
        elif not worker.started:
            self._failed_starts, self._last_death = self._failed_starts + 1, late or death(code)
