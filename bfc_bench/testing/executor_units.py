"""Units that test an executor: functions that return, fail or end their process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from bfc_bench.executors import worker_context

GRANDCHILD = "import time; time.sleep(60)"


MARKS: list[str] = []
"""What units have left in this process."""


def do(payload: tuple[str, Any]) -> Any:
    """Call the function of this module that the payload names, with its argument."""
    what, value = payload
    return globals()[what](value)


def give(value: Any) -> Any:
    """Return the argument."""
    return value


def tell(_: object) -> bytes:
    """Return the host name and the process id."""
    return f"{socket.gethostname()} {os.getpid()}".encode()


def mark(by: str) -> bytes:
    """Leave a mark in this process, and return all marks that were left here."""
    MARKS.append(by)
    return " ".join(MARKS).encode()


def fail(text: str) -> NoReturn:
    """Raise an exception with a text."""
    raise ValueError(text)


def leave(code: int) -> NoReturn:
    """End the process with an exit code."""
    os._exit(code)


def die(number: int) -> bytes:
    """End the process by a signal."""
    os.kill(os.getpid(), number)
    time.sleep(60)
    return b"lives"


def sleep(seconds: tuple[float, float]) -> bytes:
    """Sleep before and after the clock starts, for these numbers of seconds."""
    before, after = seconds
    time.sleep(before)
    worker_context.clock_starts()
    time.sleep(after)
    return b"done"


def linger(file: str) -> bytes:
    """Write host name and process id to a file, then run for minutes."""
    write(file, tell(None))
    return sleep((0, 300))


def wait_for(file: str) -> bytes:
    """Return when a file is there."""
    while not Path(file).exists():
        time.sleep(0.05)
    return b"it is there"


def orphan(file: str) -> NoReturn:
    """Start a child process, write its id to a file and end the process."""
    child = subprocess.Popen([sys.executable, "-c", GRANDCHILD])
    write(file, f"{socket.gethostname()} {child.pid}".encode())
    os._exit(3)


def take(sizes: tuple[int, int]) -> bytes:
    """Declare the first number of bytes and take the second."""
    allowed, held = sizes
    worker_context.may_take(allowed)
    worker_context.clock_starts()
    memory = bytearray(held)
    memory[:: os.sysconf("SC_PAGE_SIZE")] = b"\1" * len(range(0, held, os.sysconf("SC_PAGE_SIZE")))
    time.sleep(5)  # the memory guard looks at intervals
    return str(len(memory)).encode()


def write(file: str, content: bytes) -> None:
    """Write a file that never exists in part."""
    part = Path(f"{file}.part")
    part.write_bytes(content)
    part.rename(file)
