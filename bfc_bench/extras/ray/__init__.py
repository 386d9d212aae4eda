"""Runs units on a Ray cluster: one actor on each node opens the ordinary process pool with that node's cores and GPUs.

Ray provides placement, transport, and the detection of lost nodes. The pool handles limits of time and memory, exit
codes, and child processes of units. Ray's own retries are switched off.
"""

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import hookimpl


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the executor ``ray``."""
    register.executor(f"{__name__}.executor:RayExecutor", "ray")
