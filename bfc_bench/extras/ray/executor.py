"""The executor ``ray``: its options, and how it opens a pool."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, Self

from pydantic import NonNegativeFloat, PositiveInt, PrivateAttr, field_validator

from bfc_bench.executors.base import Executor, Place, Preload, Promise
from bfc_bench.executors.processes.supervision import START_SECONDS
from bfc_bench.extras.ray.cluster import LOCAL, Cluster, import_ray
from bfc_bench.extras.ray.pool import RayPool
from bfc_bench.extras.ray.slots import SlotShape
from bfc_bench.toolkit.gpu import cell_memory
from bfc_bench.toolkit.precision import Device, resolve_device


class RayExecutor(Executor):
    """Runs units on the nodes of a Ray cluster, on their cores and GPUs."""

    name: ClassVar[str] = "ray"
    place: ClassVar[Place] = "machines"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death", "isolation"})
    threads: ClassVar[int | None] = 1

    address: str = LOCAL
    """The cluster: ``auto`` (on this machine, or ``RAY_ADDRESS``), ``HOST:PORT``, or ``none`` to start one here."""
    cpus_per_slot: PositiveInt = 1
    """Cores that Ray reserves for each worker, which uses one thread."""
    slots_per_node: PositiveInt | None = None
    """Most workers on the cores of one node; by default as many as its cores allow."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""
    gpus: PositiveInt | None = None
    """GPUs of the cluster that ``none`` starts; by default those that Ray finds."""
    environment: dict[str, str] = {}
    """Environment variables of the workers, in addition to those of this process that begin with BFC_."""
    grace_seconds: NonNegativeFloat = START_SECONDS + 60
    """Seconds beyond a unit's limit after which a silent slot is replaced. Units may prepare for 300 s."""

    _plugins: frozenset[str] | None = PrivateAttr(None)
    """Distributions of plugins that nodes must have; None means those of all installed plugins."""

    @field_validator("address")
    @classmethod
    def _an_address(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if value not in (LOCAL, "auto") and not (host and port.isdigit() and "/" not in host):
            raise ValueError("must be auto, HOST:PORT or none")
        return value

    def ready(self) -> None:
        """Raises ``UsageError`` if Ray cannot be imported."""
        import_ray()

    def resolve_device(self, request: str) -> Device:
        """On a remote cluster, ``auto`` is ``cuda`` if a node has a GPU, and ``cuda`` is not checked."""
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
        """GPU memory of a unit on this machine, with ``jobs_per_gpu`` workers per GPU; 0 on a remote cluster."""
        return cell_memory(self.jobs_per_gpu) if self.address == LOCAL else 0

    def remarks(self) -> list[str]:
        """A warning about open ports if a cluster is started."""
        if self.address != LOCAL:
            return []
        return [
            "a Ray cluster is started on this machine. Its ports are always open to the network; they require a token "
            "that only this run has."
        ]

    def using(self, distributions: Collection[str]) -> Self:
        """This executor with nodes that may differ in plugins of other distributions."""
        executor = self.model_copy()
        executor._plugins = frozenset(distributions)
        return executor

    def open(
        self,
        call: Callable[[Any], bytes],
        preload: Preload | None = None,
        jobs: int | None = None,
    ) -> RayPool:
        """A pool on the nodes with the versions of this process. Raises ``UsageError`` if no node has them."""
        shape = SlotShape(self.cpus_per_slot, self.slots_per_node, self.jobs_per_gpu, jobs, self.environment)
        cluster = Cluster(self.address, self.gpus)
        try:
            return RayPool(cluster, shape, call, preload or {}, self.grace_seconds, self._plugins)
        except BaseException:
            cluster.close()
            raise
