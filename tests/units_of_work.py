"""Units of work for executors: functions that return, fail or end their process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from waiting import wait_until

from bfc_bench.executors import worker_context
from bfc_bench.executors.base import Pool

MARKS: list[str] = []
"""What units have left in this process."""


def call(payload: tuple[Callable[..., bytes], tuple[Any, ...]]) -> bytes:
    function, arguments = payload
    return function(*arguments)


def outcomes(pool: Pool, *units: tuple[Any, ...], groups: str = "", seconds: float = 60.0, **needs: Any) -> Any:
    """What becomes of units (function, *arguments), in their order; ``groups`` has a letter for each."""
    for key, (function, *arguments) in enumerate(units):
        pool.submit(key, (function, tuple(arguments)), seconds, group=groups[key : key + 1], **needs)
    ended = list(pool.outcomes())
    assert sorted(key for key, _ in ended) == list(range(len(units)))
    return [outcome for _, outcome in sorted(ended, key=lambda unit: unit[0])]


def give(value: Any) -> Any:
    return value


def say(text: str) -> bytes:
    return text.encode()


def pid() -> bytes:
    return str(os.getpid()).encode()


def mark(by: str) -> bytes:
    """Leaves a mark in its process, and gives all marks that were left there."""
    MARKS.append(by)
    return " ".join(MARKS).encode()


def fail(text: str) -> bytes:
    raise ValueError(text)


def end(code: int = 9) -> None:
    os._exit(code)


def signalled(number: int) -> bytes:
    os.kill(os.getpid(), number)
    time.sleep(1.0)
    return b""


def late(before: float, after: float) -> bytes:
    """Prepares itself, then starts its clock, twice."""
    time.sleep(before)
    worker_context.clock_starts()
    time.sleep(after / 2)
    worker_context.clock_starts()
    time.sleep(after / 2)
    return b"done"


def linger(file: str) -> bytes:
    """Writes its process to a file, and runs for minutes."""
    write(file, pid())
    return late(0.0, 300.0)


def wait_for(file: str) -> bytes:
    wait_until(Path(file).exists)
    return b""


def leave_a_child(file: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
    write(file, str(child.pid).encode())
    os._exit(0)


def grow(memory: int) -> bytes:
    worker_context.may_take(50_000_000)
    held = bytearray(memory)
    held[::4096] = b"1" * len(held[::4096])
    time.sleep(1.0)
    return b"grown"


def write(file: str, content: bytes) -> None:
    """Writes a file that never exists in part."""
    part = Path(f"{file}.part")
    part.write_bytes(content)
    part.rename(file)
