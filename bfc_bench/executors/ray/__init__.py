"""Runs units on a Ray cluster, in slots: actors on its nodes, each with a ``ProcessPool`` of one worker.

Ray provides placement, transport, and the detection of lost nodes. The pool in each slot handles limits of time and
memory, exit codes, and child processes of units. Ray's own retries are switched off.
"""

from bfc_bench.executors.ray.executor import RayExecutor

__all__ = ["RayExecutor"]
