"""Executors, which run units of work: in this process, in worker processes, or on a Ray cluster."""

from bfc_bench.executors.base import Executor
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.ray import RayExecutor
from bfc_bench.executors.serial import SerialExecutor

EXECUTORS: tuple[type[Executor], ...] = (SerialExecutor, ProcessExecutor, RayExecutor)
