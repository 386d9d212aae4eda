"""Units of work for executors: functions that return, fail or end their process."""

import os
import subprocess
import sys
import time
from pathlib import Path

from waiting import wait_until

from bfc_bench.executors import worker_context

MARKS: list[str] = []
"""What units have left in this process."""


def call(payload):
    function, arguments = payload
    return function(*arguments)


def outcomes(pool, *units, groups="", seconds=60.0, **needs):
    """What becomes of units (function, *arguments), in their order; ``groups`` has a letter for each."""
    for key, (function, *arguments) in enumerate(units):
        pool.submit(key, (function, tuple(arguments)), seconds, group=groups[key : key + 1], **needs)
    ended = list(pool.outcomes())
    assert sorted(key for key, _ in ended) == list(range(len(units)))
    return [outcome for _, outcome in sorted(ended, key=lambda unit: unit[0])]


def give(value):
    return value


def say(text):
    return text.encode()


def pid():
    return str(os.getpid()).encode()


def mark(by):
    """Leaves a mark in its process, and gives all marks that were left there."""
    MARKS.append(by)
    return " ".join(MARKS).encode()


def fail(text):
    raise ValueError(text)


def end(code=9):
    os._exit(code)


def signalled(number):
    os.kill(os.getpid(), number)
    time.sleep(1.0)
    return b""


def late(before, after):
    """Prepares itself, then starts its clock, twice."""
    time.sleep(before)
    worker_context.clock_starts()
    time.sleep(after / 2)
    worker_context.clock_starts()
    time.sleep(after / 2)
    return b"done"


def linger(file):
    """Writes its process to a file, and runs for minutes."""
    write(file, pid())
    return late(0.0, 300.0)


def wait_for(file):
    wait_until(Path(file).exists)
    return b""


def leave_a_child(file):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=False)
    write(file, str(child.pid).encode())
    os._exit(0)


def grow(memory):
    worker_context.may_take(50_000_000)
    held = bytearray(memory)
    held[::4096] = b"1" * len(held[::4096])
    time.sleep(1.0)
    return b"grown"


def write(file, content):
    """Writes a file that never exists in part."""
    part = Path(f"{file}.part")
    part.write_bytes(content)
    part.rename(file)
