"""Reads the memory and the children of processes from Linux's ``/proc``.

``held`` is what would be free without the process: its own pages, resident or swapped, and shared memory, but not
mapped files, whose pages the system can drop. ``asked`` is private writable memory, touched or not, as ``RLIMIT_DATA``
counts it.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

READABLE = Path("/proc/self/status").exists()
"""Whether this platform has ``/proc``. Without it, memory is not limited."""


@dataclass(frozen=True)
class Memory:
    """Memory of a process in bytes."""

    held: int
    asked: int


def memory(process: int | str = "self") -> Memory:
    """Memory of a process. Raises ``OSError`` if it does not exist or the platform has no ``/proc``."""
    status = _content(f"/proc/{process}/status")
    return Memory(_sum(status, b"\nRssAnon:", b"\nRssShmem:", b"\nVmSwap:"), _sum(status, b"\nVmData:"))


def dirty(process: int) -> int:
    """Bytes that a process has written and shares with no other; 0 if it has ended. Takes 10 ms per GB."""
    try:
        return _sum(_content(f"/proc/{process}/smaps_rollup"), b"\nPrivate_Dirty:", b"\nSwapPss:")
    except OSError:
        return 0


def family(process: int) -> list[int]:
    """A process and its descendants."""
    members = [process]
    for member in members:
        with suppress(OSError):  # it has ended
            for thread in os.listdir(f"/proc/{member}/task"):
                with suppress(OSError):
                    members += map(int, _content(f"/proc/{member}/task/{thread}/children").split())
    return members


def _sum(table: bytes, *names: bytes) -> int:
    """Sum in bytes of the lines ``names``, which are in kilobytes. A missing line, as in a zombie, counts as 0."""
    return 1024 * sum(int(table.partition(name)[2][:24].split(None, 1)[0]) for name in names if name in table)


def _content(path: str) -> bytes:
    """Content of a file, read without Python's slower buffers."""
    with open(path, "rb", buffering=0) as file:
        return file.read(1 << 16)
