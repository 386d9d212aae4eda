"""The executor ``ray``: its options, and how it opens a pool."""

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import PositiveInt, field_validator

from bfc_bench.executors.base import Executor, Place, Preload, Promise
from bfc_bench.extras.ray.cluster import Cluster, import_ray
from bfc_bench.extras.ray.pool import RayPool
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.masking import without_credentials

PASSED_ON = "BFC_"
"""Prefix of the environment variables that workers on other machines get, except credentials."""


class RayExecutor(Executor):
    """Runs units on the nodes of a Ray cluster, on their cores and GPUs."""

    name: ClassVar[str] = "ray"
    place: ClassVar[Place] = "machines"
    promises: ClassVar[frozenset[Promise]] = frozenset({"time", "memory", "death", "isolation"})
    threads: ClassVar[int | None] = 1

    address: str = "auto"
    """The cluster: ``auto`` (that of this machine, or the one that ``RAY_ADDRESS`` names) or ``HOST:PORT``."""
    jobs_per_gpu: PositiveInt = 1
    """Workers that share one GPU and its memory."""
    environment: dict[str, str] = {}
    """Environment variables of the workers, in addition to those of this process that begin with BFC_."""

    @field_validator("address")
    @classmethod
    def _an_address(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if value != "auto" and not (host and port.isdigit() and "/" not in host):
            raise ValueError("must be auto or HOST:PORT")
        return value

    def ready(self) -> None:
        """Raises ``UsageError`` if Ray cannot be imported."""
        import_ray()

    def resolve_device(self, request: str) -> Device:
        """``auto`` is ``cuda`` if a node has a GPU, and ``cuda`` is not checked."""
        if request == "cuda":
            return "cuda"
        if request != "auto":
            return super().resolve_device(request)
        cluster = Cluster(self.address)
        try:
            return "cuda" if any(node.gpus for node in cluster.nodes().values()) else "cpu"
        finally:
            cluster.close()

    def gpu_bytes(self) -> int:
        """0, since the GPUs of the nodes are not known here."""
        return 0

    def open(self, call: Callable[[Any], bytes], preload: Preload | None = None, jobs: int | None = None) -> RayPool:
        """A pool on the nodes with the versions of this process. Raises ``UsageError`` if there are none."""
        passed_on = {name: value for name, value in without_credentials().items() if name.startswith(PASSED_ON)}
        environment = {**passed_on, **self.environment}
        cluster = Cluster(self.address)
        try:
            return RayPool(cluster, call, preload or {}, self.jobs_per_gpu, environment, jobs)
        except BaseException:
            cluster.close()
            raise
