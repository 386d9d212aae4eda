"""What runs on the nodes of a Ray cluster: slots, which are our own pool of one worker in an actor, and a handshake."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any

from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.processes import ProcessPool
from bfc_bench.utils.hook_markers import PROJECT

PACKAGES = ("bfc-bench", "torch", "jax", "jaxlib", "numpy", "scipy", "scikit-learn")
"""On which numbers depend, beside the distributions of plugins."""


class SlotActor:
    """An actor that runs one unit at a time, in a process of its own.

    Ray has no limit of time for a task, enforces no memory and does not say how a process ended; the pool does. What
    the session sends, ``call`` and ``prepare`` too, stays pickled here: learners are none of this process's business.
    """

    def __init__(self, call: bytes, prepare: bytes | None, jobs_per_gpu: int) -> None:
        gpus = [os.environ.get("CUDA_VISIBLE_DEVICES", "")]
        start = None if prepare is None else partial(_prepare, prepare)
        self._pool = ProcessPool(partial(_apply, call), 1, start, gpus, jobs_per_gpu)

    def ready(self) -> int:
        """The process that it runs in."""
        return os.getpid()

    def run(self, payload: bytes, needs: Resources) -> bytes | UnitFailure:
        """What becomes of a unit. Raises ``BenchError`` where no worker starts."""
        self._pool.submit(0, payload, needs)
        ((_, outcome),) = self._pool.outcomes()
        return outcome

    def close(self) -> None:
        """End the worker."""
        self._pool.close()


def _apply(call: bytes, payload: bytes) -> bytes:
    result: bytes = _loaded(call)(pickle.loads(payload))
    return result


def _prepare(prepare: bytes) -> None:
    _loaded(prepare)()


@cache
def _loaded(pickled: bytes) -> Callable[..., Any]:
    """Once in each worker."""
    function: Callable[..., Any] = pickle.loads(pickled)
    return function


def distributions() -> list[str]:
    """Those that nodes must have in the versions that they have here."""
    plugins = {point.dist.name for point in entry_points(group=PROJECT) if point.dist is not None}
    return list(dict.fromkeys([*PACKAGES, *sorted(plugins)]))


def greeting() -> Callable[[Sequence[str]], dict[str, str]]:
    """A function that tells versions of Python and of distributions, a missing one as such.

    It is made here, so that it travels as it is, to nodes without this package too.
    """

    def versions(names: Sequence[str]) -> dict[str, str]:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        found = {"Python": platform.python_version()}
        for name in names:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = "missing"
        return found

    return versions
