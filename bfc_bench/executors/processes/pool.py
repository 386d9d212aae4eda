"""A pool of slots: threads that take units from a queue, and start and watch a worker process for each."""

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, TypeAlias

from bfc_bench.errors import BenchError
from bfc_bench.executors.base import Preload, UnitFailure, dumps
from bfc_bench.executors.environment import NO_GPU, worker_variables
from bfc_bench.executors.processes.fork_server import ForkServer
from bfc_bench.executors.processes.launch import SpawnedProcess
from bfc_bench.executors.processes.supervision import Start, Supervision
from bfc_bench.toolkit.gpu import gpu_variables, share_of_gpu
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import without_credentials

FAILED_STARTS = 3
"""Number of workers for one unit that may end before they are ready, before the pool gives up."""

Outcome: TypeAlias = bytes | UnitFailure
Queue: TypeAlias = "SimpleQueue[tuple[int, Any, float, str] | None]"


class ProcessPool:
    """Slots on the cores and on each GPU. Their threads start with the first unit for their device."""

    def __init__(
        self,
        call: Callable[[Any], bytes],
        preload: Preload,
        jobs: int,
        gpus: list[str],
        jobs_per_gpu: int,
        *,
        fork: bool,
    ) -> None:
        self._call, self._jobs, self._gpus, self._jobs_per_gpu = call, jobs, gpus, jobs_per_gpu
        self._variables = {**without_credentials(), **worker_variables()}
        self._server = ForkServer(call, preload, {**self._variables, **NO_GPU}) if fork and jobs else None
        self._queues: dict[Device, Queue] = {}
        self._threads: list[Thread] = []
        self._ended: SimpleQueue[tuple[int, Outcome | BenchError]] = SimpleQueue()
        self._left: set[int] = set()
        """Keys of units whose outcome was not given yet."""
        self._running: dict[int, float] = {}
        self._stop = Event()

    def slots(self, device: Device) -> int:
        """The number of workers on the CPU, or on all GPUs together."""
        return self._jobs if device == "cpu" else len(self._gpus) * self._jobs_per_gpu

    def submit(self, key: int, payload: Any, seconds: float, device: Device = "cpu", group: str = "") -> None:
        """Queue a unit. Its worker is killed after ``seconds`` on the unit's clock.

        Raises ``BenchError`` if it needs a GPU and none is visible.
        """
        if not self.slots(device):
            raise BenchError("executor 'processes': a unit needs a GPU, and none is visible here. Use --device cpu.")
        if device not in self._queues:
            self._queues[device] = SimpleQueue()
            for start in self._starts(device):
                self._threads.append(Thread(target=self._work, args=(self._queues[device], start), daemon=True))
                self._threads[-1].start()
        self._left.add(key)
        self._queues[device].put((key, payload, seconds, group))

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """(key, result or UnitFailure) of units as they end. Raises ``BenchError`` if workers cannot start."""
        while self._left:
            key, outcome = self._ended.get()
            if isinstance(outcome, BenchError):
                raise outcome
            self._left.discard(key)
            yield key, outcome

    def running(self) -> Mapping[int, float]:
        """The units that have a slot, with the time at which their worker began to start."""
        return self._running.copy()

    def close(self, now: bool = False) -> None:
        """End the slots after the units that were submitted, or ``now``."""
        if now:
            self._stop.set()
        for device, queue in self._queues.items():
            for _ in range(self.slots(device)):
                queue.put(None)
        for thread in self._threads:
            thread.join()
        self._queues, self._threads = {}, []
        if self._server is not None:
            self._server.close()

    def _starts(self, device: Device) -> list[Start]:
        """For each slot of a device, how to start a worker."""
        if device == "cpu":
            fork = self._server.fork if self._server is not None else self._spawner(NO_GPU)
            return [fork] * self._jobs
        shared = {**share_of_gpu(self._jobs_per_gpu), **gpu_variables(self._variables["XLA_FLAGS"])}
        starts = [self._spawner({"CUDA_VISIBLE_DEVICES": gpu, **shared}) for gpu in self._gpus]
        return starts * self._jobs_per_gpu

    def _spawner(self, variables: dict[str, str]) -> Start:
        return partial(SpawnedProcess, self._call, {**self._variables, **variables})

    def _work(self, queue: Queue, start: Start) -> None:
        """Run units of a queue one after the other."""
        while (unit := queue.get()) is not None and not self._stop.is_set():
            key, payload, seconds, group = unit
            self._running[key] = time.monotonic()
            outcome: Outcome | BenchError
            try:
                outcome = self._outcome(start, payload, seconds, group)
            except BenchError as error:
                outcome = error
            except Exception as error:
                outcome = BenchError(f"executor 'processes': a worker cannot be started: {error!r}")
            del self._running[key]
            self._ended.put((key, outcome))

    def _outcome(self, start: Start, payload: Any, seconds: float, group: str) -> Outcome:
        """The outcome of a unit. A worker that ends before it has begun is replaced."""
        message = dumps(payload)
        for _ in range(FAILED_STARTS):
            worker = Supervision(start, message, seconds, group)
            outcome = worker.run(self._stop)
            if worker.started or self._stop.is_set():
                return outcome
        assert isinstance(outcome, UnitFailure)
        raise BenchError(
            f"{FAILED_STARTS} worker processes in a row ended before they could work, the last one because "
            f"{outcome.reason}. Try `--executor serial`, which shows why."
        )
