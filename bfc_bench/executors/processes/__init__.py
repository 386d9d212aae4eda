"""Runs each unit in a worker process of its own, with one thread, which ends with the unit.

On Linux the workers on the cores are forked from a process that has imported what they need (``fork_server.py``).
Elsewhere, and on a GPU, they are new interpreters. A thread of the session watches each worker (``supervision.py``) and
ends it if it exceeds its limits. Workers share no lock or queue that a dying process could leave in a bad state.
"""

from bfc_bench.executors.processes.executor import ProcessExecutor
from bfc_bench.executors.processes.pool import ProcessPool

__all__ = ["ProcessExecutor", "ProcessPool"]
