"""Waits for what a busy machine may do late."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 90) -> None:
    """Return once ``condition()`` holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"did not happen in {seconds:g} s"
        time.sleep(0.05)


def alive(pid: str) -> bool:
    """Whether a process runs; one that has ended may be left for its parent."""
    listed = ["ps", "-o", "stat=", "-p", pid]
    states = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    return any(not state.startswith("Z") for state in states)
