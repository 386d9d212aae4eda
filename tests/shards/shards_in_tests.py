"""What tests of shards share beside fixtures."""

import json
import time
from collections.abc import Callable
from contextlib import suppress

from bfc_bench.shards.heartbeat import Heartbeat
from bfc_bench.shards.job import ShardJob


def heartbeat(job: ShardJob, number: int) -> Heartbeat:
    found = Heartbeat.read(job.file("heartbeats", number))
    assert found is not None
    return found


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with suppress(AssertionError, FileNotFoundError, json.JSONDecodeError):
            if condition():
                return
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.02)
