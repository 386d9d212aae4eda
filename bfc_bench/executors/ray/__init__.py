"""Runs units on a Ray cluster: slots on its nodes, each our own pool of one worker, and a loop here that feeds them.

Of Ray this takes placement, transport and the news of who is gone. Limits of time and memory, exit codes and the end of
what a unit started are those of the pool in each slot; what Ray would do again by itself is switched off.
"""

from bfc_bench.executors.ray.executor import RayExecutor

__all__ = ["RayExecutor"]
