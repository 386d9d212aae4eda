"""What units do to try an executor, in whatever process they are run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from bfc_bench.executors import worker_context

GRANDCHILD = "import time; time.sleep(60)"


class Prepared:
    """How often this process was prepared."""

    times = 0


def prepare() -> None:
    """Before a worker's first unit."""
    Prepared.times += 1


def do(payload: tuple[str, Any]) -> Any:
    """A deed by its name, with its argument."""
    what, value = payload
    return DEEDS[what](value)


def give(value: Any) -> Any:
    """What came."""
    return value


def tell(_: object) -> bytes:
    """Machine, process and how often it was prepared."""
    return f"{socket.gethostname()} {os.getpid()} {Prepared.times}".encode()


def fail(text: str) -> NoReturn:
    """Raises with a text."""
    raise ValueError(text)


def unsendable(_: object) -> Any:
    """A result that stays where it is."""
    return Unsendable()


def leave(code: int) -> NoReturn:
    """Ends its process without a word."""
    os._exit(code)


def die(number: int) -> bytes:
    """Ends its process by a signal."""
    os.kill(os.getpid(), number)
    time.sleep(60)
    return b"lives"


def sleep(seconds: tuple[float, float]) -> bytes:
    """Prepares itself for a while, then works for a while."""
    before, after = seconds
    time.sleep(before)
    worker_context.clock_starts()
    time.sleep(after)
    return b"done"


def linger(file: str) -> bytes:
    """Says that it has begun, and where, then works for minutes."""
    write(file, tell(None))
    return sleep((0, 300))


def orphan(file: str) -> NoReturn:
    """Ends its process while a child of its own goes on."""
    child = subprocess.Popen([sys.executable, "-c", GRANDCHILD])
    write(file, f"{socket.gethostname()} {child.pid}".encode())
    os._exit(3)


def take(sizes: tuple[int, int]) -> bytes:
    """May take so many bytes, takes others."""
    allowed, taken = sizes
    worker_context.may_take(allowed)
    worker_context.clock_starts()
    held = bytearray(taken)
    held[:: os.sysconf("SC_PAGE_SIZE")] = b"\1" * len(range(0, taken, os.sysconf("SC_PAGE_SIZE")))
    time.sleep(5)  # for whoever looks now and then
    return str(len(held)).encode()


def write(file: str, content: bytes) -> None:
    """A whole file at once."""
    part = Path(f"{file}.part")
    part.write_bytes(content)
    part.rename(file)


class Unsendable:
    """Cannot be pickled."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("it stays here")


DEEDS: dict[str, Callable[[Any], Any]] = {
    deed.__name__: deed for deed in (give, tell, fail, unsendable, leave, die, sleep, linger, orphan, take)
}
SEGFAULT, KILL = int(signal.SIGSEGV), int(signal.SIGKILL)
