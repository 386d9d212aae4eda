"""The executor ``processes``: worker processes on this machine, by default one per core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import PositiveInt

from bfc_bench.executors.base import Executor, Pool, Promise, usable_cores
from bfc_bench.executors.processes.pool import ProcessPool
from bfc_bench.toolkit.gpu import cell_memory


class ProcessExecutor(Executor):
    """Runs units in worker processes with one thread each, and stops those that exceed their limits."""

    name: ClassVar[str] = "processes"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death"})
    threads: ClassVar[int | None] = 1

    gpus: list[int | str] | None = None
    """GPUs to use, as ``CUDA_VISIBLE_DEVICES`` names them; by default all that this process sees."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""

    def gpu_bytes(self) -> int:
        """GPU memory of a unit on a GPU that ``jobs_per_gpu`` workers share."""
        return cell_memory(self.jobs_per_gpu)

    def open(
        self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool:
        """A pool of worker processes."""
        gpus = None if self.gpus is None else list(map(str, self.gpus))
        return ProcessPool(call, jobs or usable_cores(), prepare, gpus, self.jobs_per_gpu)

    def begin(
        self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> Pool:
        """A pool whose first worker on the CPU starts now; the pool of a subclass may ignore that."""
        pool = self.open(call, prepare, jobs)
        if isinstance(pool, ProcessPool):
            pool.begin()
        return pool
