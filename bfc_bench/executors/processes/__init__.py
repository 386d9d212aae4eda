"""Runs units in spawned worker processes with one thread each.

A worker has two pipes and runs one unit at a time. A unit that exceeds its time is killed with its worker. When a
worker ends, only its unit fails. Workers share no lock or queue that a dying process could leave in a bad state. They
are spawned, not forked, since JAX and CUDA do not survive a fork. Units on a GPU have workers of their own.
"""

from bfc_bench.executors.processes.executor import ProcessExecutor
from bfc_bench.executors.processes.pool import ProcessPool

__all__ = ["ProcessExecutor", "ProcessPool"]
