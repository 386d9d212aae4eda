"""Executors, which run units of work: in this process or in worker processes."""

from bfc_bench.executors.base import Executor
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.serial import SerialExecutor

EXECUTORS: tuple[type[Executor], ...] = (SerialExecutor, ProcessExecutor)
