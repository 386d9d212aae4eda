"""What runs on the nodes of a Ray cluster: an actor on each, which opens the process pool there."""

import pickle
from collections.abc import Callable, Collection, Mapping
from functools import partial
from importlib.metadata import entry_points
from typing import Any

from bfc_bench.executors.processes import ProcessPool
from bfc_bench.executors.processes.fork_server import CAN_FORK
from bfc_bench.utils.hook_markers import PROJECT

PACKAGES = ("bfc-bench", "torch", "jax", "jaxlib", "numpy", "scipy", "scikit-learn")
"""Packages on which numbers depend, in addition to the distributions of plugins."""


def wanted_versions() -> dict[str, str]:
    """Versions that nodes must have: of Python, of ``PACKAGES`` and of the distributions of plugins."""
    plugins = {point.dist.name for point in entry_points(group=PROJECT) if point.dist is not None}
    return _versions()(dict.fromkeys([*PACKAGES, *sorted(plugins)]))


def actor_class() -> type[Any]:
    """The actor's class. Ray sends local classes by value, so that it starts on nodes without this package too."""
    versions = _versions()

    class NodeActor:
        def open(self, wanted: Mapping[str, str], *arguments: Any) -> str:
            """Open the pool, or return as text which versions differ from those that are ``wanted``."""
            installed = versions(wanted)
            differing = [name for name in wanted if installed[name] != wanted[name]]
            if differing:
                return ", ".join(f"{name} {installed[name]} (here {wanted[name]})" for name in differing)
            from threading import Lock

            from bfc_bench.extras.ray.node import open_pool

            self._lock, self._pool = Lock(), open_pool(*arguments)
            return ""

        def run(self, key: int, payload: bytes, *needs: Any) -> Any:
            """Submit a unit and wait for the next outcome, which may be another unit's. Each call gets one."""
            with self._lock:
                self._pool.submit(key, payload, *needs)
            return next(self._pool.outcomes())

        def close(self, now: bool) -> None:
            """End the workers."""
            self._pool.close(now)

    return NodeActor


def _versions() -> Callable[[Collection[str]], dict[str, str]]:
    """A local function that returns the versions of Python and of distributions, "missing" for absent ones."""

    def versions(names: Collection[str]) -> dict[str, str]:
        import platform
        from importlib import metadata

        found = {"Python": platform.python_version()}
        for name in names:
            try:
                found.setdefault(name, metadata.version(name))
            except metadata.PackageNotFoundError:
                found.setdefault(name, "missing")
        return found

    return versions


def open_pool(call: bytes, preload: Mapping[str, bytes], cores: int, jobs_per_gpu: int) -> ProcessPool:
    """The pool of this node. Functions and payloads stay pickled here, so that this process imports no learner."""
    import ray

    steps = {group: partial(_unpickle_and_call, step) for group, step in preload.items()}
    gpus = list(map(str, ray.get_gpu_ids()))
    return ProcessPool(partial(_unpickle_and_call, call), steps, cores, gpus, jobs_per_gpu, fork=CAN_FORK)


def _unpickle_and_call(function: bytes, *arguments: bytes) -> Any:
    return pickle.loads(function)(*map(pickle.loads, arguments))
