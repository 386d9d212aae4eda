"""The built-in executors keep the contract."""

import pytest
from executor_contract import ExecutorContract

from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.processes.fork_server import CAN_FORK
from bfc_bench.executors.serial import SerialExecutor


class TestProcesses(ExecutorContract):
    @pytest.fixture(params=["fork", "spawn"] if CAN_FORK else ["spawn"])
    def executor(self, request):
        return ProcessExecutor(start=request.param)

    def test_everything_is_promised(self, executor):
        assert executor.promises == {"isolation", "time", "memory", "death"}


class TestSerial(ExecutorContract):
    @pytest.fixture
    def executor(self):
        return SerialExecutor()
