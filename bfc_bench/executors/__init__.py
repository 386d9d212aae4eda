"""Where units of work run."""

from collections.abc import Callable

from bfc_bench.executors.base import Executor
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.serial import SerialExecutor

EXECUTORS: dict[str, Callable[[int], Executor]] = {"serial": SerialExecutor, "processes": ProcessExecutor}
