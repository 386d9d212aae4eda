"""The executor ``ray``: what can be asked of it, and the pool that it opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import NonNegativeFloat, PositiveInt, field_validator

from bfc_bench.executors.base import Executor, Place, Promise
from bfc_bench.executors.processes.worker_handle import START_SECONDS
from bfc_bench.executors.ray.cluster import LOCAL, Cluster, import_ray
from bfc_bench.executors.ray.pool import RayPool
from bfc_bench.executors.ray.slots import SlotShape
from bfc_bench.toolkit.gpu import cell_memory
from bfc_bench.toolkit.precision import Device, resolve_device


class RayExecutor(Executor):
    """Runs units on the nodes of a Ray cluster, on their cores and GPUs."""

    name: ClassVar[str] = "ray"
    place: ClassVar[Place] = "machines"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death"})
    threads: ClassVar[int | None] = 1

    address: str = LOCAL
    """The cluster: ``auto``, that of this machine or of ``RAY_ADDRESS``; ``HOST:PORT``; ``none`` starts one here."""
    cpus_per_slot: PositiveInt = 1
    """Cores that Ray sets aside for each worker, which uses one thread."""
    slots_per_node: PositiveInt | None = None
    """Most workers on the cores of one node; left out, as many as its cores allow."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""
    gpus: PositiveInt | None = None
    """GPUs of the cluster that ``none`` starts; left out, those that Ray finds."""
    environment: dict[str, str] = {}
    """Further environment variables of the workers, beside those that begin with BFC_."""
    grace_seconds: NonNegativeFloat = START_SECONDS + 60
    """Seconds beyond a unit's limit after which a slot that says nothing is replaced; units may prepare for 300."""

    @field_validator("address")
    @classmethod
    def _an_address(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if value not in (LOCAL, "auto") and not (host and port.isdigit() and "/" not in host):
            raise ValueError("must be auto, HOST:PORT or none")
        return value

    def ready(self) -> None:
        """Raises ``UsageError`` without Ray."""
        import_ray()

    def resolve_device(self, request: str) -> Device:
        """Of a cluster elsewhere ``auto`` is what some node has, and ``cuda`` is believed."""
        if self.address == LOCAL or request not in ("auto", "cuda"):
            return "cuda" if request == "cuda" and self.gpus else resolve_device(request)
        if request == "cuda":
            return "cuda"
        cluster = Cluster(self.address)
        try:
            return "cuda" if any(node.gpus for node in cluster.nodes().values()) else "cpu"
        finally:
            cluster.close()

    def gpu_bytes(self) -> int:
        """Of a GPU of this machine that ``jobs_per_gpu`` workers share; of a cluster elsewhere it is not known."""
        return cell_memory(self.jobs_per_gpu) if self.address == LOCAL else 0

    def remarks(self) -> list[str]:
        """What a cluster of its own means."""
        if self.address != LOCAL:
            return []
        return [
            "a Ray cluster is started on this machine: Ray's ports are open to the network whatever it is told, and "
            "ask for a token that only this run has."
        ]

    def open(
        self, call: Callable[[Any], bytes], prepare: Callable[[], object] | None = None, jobs: int | None = None
    ) -> RayPool:
        """A pool on the cluster with at most ``jobs`` workers on cores. Raises ``UsageError`` for nodes that differ."""
        shape = SlotShape(self.cpus_per_slot, self.slots_per_node, self.jobs_per_gpu, jobs, self.environment)
        cluster = Cluster(self.address, self.gpus)
        try:
            return RayPool(cluster, shape, call, prepare, self.grace_seconds)
        except BaseException:
            cluster.close()
            raise
