"""The executor ``processes``: worker processes on this machine, by default one per core."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import PositiveInt

from bfc_bench.errors import UsageError
from bfc_bench.executors.base import Executor, Pool, Preload, Promise
from bfc_bench.executors.processes.fork_server import CAN_FORK
from bfc_bench.executors.processes.pool import ProcessPool
from bfc_bench.toolkit.gpu import cell_memory, visible_gpus
from bfc_bench.toolkit.precision import Device


class ProcessExecutor(Executor):
    """Runs each unit in a process of its own with one thread, and stops units that exceed their limits."""

    name: ClassVar[str] = "processes"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death", "isolation"})
    threads: ClassVar[int | None] = 1

    gpus: list[int | str] | None = None
    """GPUs to use, as ``CUDA_VISIBLE_DEVICES`` names them; by default all that this process sees."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""
    start: Literal["fork", "spawn"] = "fork" if CAN_FORK else "spawn"
    """``fork``: workers on the CPU are copies of a process that has the libraries. ``spawn``: each is a new one."""

    def ready(self) -> None:
        """Raises ``UsageError`` if workers cannot be forked here."""
        if self.start == "fork" and not CAN_FORK:
            raise UsageError('executor \'processes\': start = "fork" needs Linux. Use "spawn".')

    def gpu_bytes(self) -> int:
        """GPU memory of a unit on a GPU that ``jobs_per_gpu`` workers share."""
        return cell_memory(self.jobs_per_gpu)

    def slots(self, device: Device, jobs: int | None = None) -> int:
        """``jobs`` or the number of cores; ``jobs_per_gpu`` for each GPU."""
        return super().slots(device, jobs) if device == "cpu" else len(self._gpus) * self.jobs_per_gpu

    @property
    def _gpus(self) -> list[str]:
        return visible_gpus() if self.gpus is None else list(map(str, self.gpus))

    def open(self, call: Callable[[Any], bytes], preload: Preload | None = None, jobs: int | None = None) -> Pool:
        """A pool of worker processes."""
        workers, fork = self.slots("cpu", jobs), self.start == "fork"
        return ProcessPool(call, preload or {}, workers, self._gpus, self.jobs_per_gpu, fork=fork)
