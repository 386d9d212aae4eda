"""Code that runs on the nodes of a Ray cluster: slot actors with a pool of one worker, and the check of versions."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any

from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.hook_markers import PROJECT

PACKAGES = ("bfc-bench", "torch", "jax", "jaxlib", "numpy", "scipy", "scikit-learn")
"""Packages on which numbers depend, in addition to the distributions of plugins."""


class SlotActor:
    """An actor that runs one unit at a time, in a process of its own.

    The pool limits time and memory and reports how a process ended, which Ray does not. ``call``, ``preload`` and
    payloads stay pickled here, so that this process imports no learner.
    """

    def __init__(self, call: bytes, preload: Mapping[str, bytes], device: Device, jobs_per_gpu: int) -> None:
        gpus = [os.environ.get("CUDA_VISIBLE_DEVICES", "")]
        steps = {group: partial(_import, step) for group, step in preload.items()}
        start = "spawn" if device == "cuda" else ProcessExecutor().start
        self._pool = ProcessExecutor(gpus=gpus, jobs_per_gpu=jobs_per_gpu, start=start).open(
            partial(_apply, call), steps, 1
        )

    def ready(self) -> int:
        """Id of this process; its arrival shows that the actor has started."""
        return os.getpid()

    def run(self, payload: bytes, needs: Resources) -> bytes | UnitFailure:
        """The outcome of a unit. Raises ``BenchError`` if no worker starts."""
        self._pool.submit(0, payload, needs)
        ((_, outcome),) = self._pool.outcomes()
        return outcome

    def close(self) -> None:
        """End the worker."""
        self._pool.close()


def _apply(call: bytes, payload: bytes) -> bytes:
    result: bytes = _loaded(call)(pickle.loads(payload))
    return result


def _import(step: bytes) -> None:
    _loaded(step)()


@cache
def _loaded(pickled: bytes) -> Callable[..., Any]:
    """Unpickle a function, once per worker."""
    function: Callable[..., Any] = pickle.loads(pickled)
    return function


def distributions(plugins: Collection[str] | None) -> list[str]:
    """Names of the distributions whose versions must be the same on all nodes."""
    if plugins is None:
        plugins = {point.dist.name for point in entry_points(group=PROJECT) if point.dist is not None}
    return list(dict.fromkeys([*PACKAGES, *sorted(plugins)]))


def greeting() -> Callable[[Sequence[str]], dict[str, str]]:
    """A function that returns the versions of Python and of distributions, "missing" for absent ones.

    It is a local function, so that Ray pickles it by value and it runs on nodes without this package.
    """

    def versions(names: Sequence[str]) -> dict[str, str]:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        installed = {"Python": platform.python_version()}
        for name in names:
            try:
                installed[name] = version(name)
            except PackageNotFoundError:
                installed[name] = "missing"
        return installed

    return versions
