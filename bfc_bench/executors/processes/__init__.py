"""Runs units in spawned processes with one thread each: one process, two pipes and one unit at a time per worker.

A unit that exceeds its time is killed with its worker; the death of a worker, whatever the cause and the exit code,
fails only the unit that it was running. Nothing is shared between workers, so that none can hold up another: no lock,
no queue that a dying process may leave half written. Workers are spawned, never forked, since JAX and CUDA do not
survive a fork.

Units that compute on a GPU have workers of their own, so many for each GPU, beside those on the cores.
"""

from bfc_bench.executors.processes.executor import ProcessExecutor
from bfc_bench.executors.processes.pool import ProcessPool

__all__ = ["ProcessExecutor", "ProcessPool"]
