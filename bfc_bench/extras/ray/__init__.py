"""Runs units on a Ray cluster: one actor on each node opens the ordinary process pool with that node's cores and GPUs.

Ray provides placement, transport, and the detection of lost nodes. The pool handles limits of time and memory, exit
codes, and child processes of units. Ray's own retries are switched off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bfc_bench.utils.hook_markers import hookimpl

if TYPE_CHECKING:
    from bfc_bench.executors.base import Executor


@hookimpl
def bfc_register_executors(register: Callable[[type[Executor]], None]) -> None:
    """Register the executor ``ray``."""
    from bfc_bench.extras.ray.executor import RayExecutor

    register(RayExecutor)
