"""Memory of processes as Linux tells it in ``/proc``: what they hold, have asked for, and who their children are.

Held is what would be free without the process: its own pages, resident or swapped, and shared memory, but no files that
are mapped, whose pages the system drops when it needs them. Asked for is what it may write to and shares with nobody,
touched or not, which is what ``RLIMIT_DATA`` counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

READABLE = Path("/proc/self/status").exists()
"""Whether this platform tells; where it does not, no limit holds."""

_HELD = (b"\nRssAnon:", b"\nRssShmem:", b"\nVmSwap:")
_EXACTLY = (b"\nPss_Anon:", b"\nPss_Shmem:", b"\nSwapPss:")


@dataclass(frozen=True)
class Memory:
    """Bytes of a process, or of a process and those that it started."""

    held: int
    asked: int


def memory(process: int | str = "self") -> Memory:
    """Of one process. Raises ``OSError`` where it is not there, or the platform does not tell."""
    status = _content(f"/proc/{process}/status")
    return Memory(_sum(status, _HELD), _sum(status, (b"\nVmData:",)))


def family(process: int) -> list[int]:
    """A process and its children, theirs included, as far as they are there."""
    members = [process]
    for member in members:
        members += _children(member)
    return members


def held_together(processes: list[int]) -> int:
    """Bytes that processes hold, what a fork shares with its parent counted in both."""
    held = 0
    for process in processes:
        with suppress(OSError):
            held += memory(process).held
    return held


def held_exactly(processes: list[int]) -> int:
    """The same with what they share counted once, for which Linux looks at every page: 1 ms per GB."""
    held = 0
    for process in processes:
        with suppress(OSError):
            held += _sum(_content(f"/proc/{process}/smaps_rollup"), _EXACTLY)
    return held


def _children(process: int) -> Iterator[int]:
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{process}/task"):
            with suppress(OSError):
                yield from map(int, _content(f"/proc/{process}/task/{thread}/children").split())


def _sum(table: bytes, names: tuple[bytes, ...]) -> int:
    """Bytes in all under ``names``, whose lines are in kilobytes; a line that is missing, as in a zombie, has none."""
    return 1024 * sum(int(table.partition(name)[2][:24].split(None, 1)[0]) for name in names if name in table)


def _content(path: str) -> bytes:
    """Without Python's buffers, which take longer than the system does."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 1 << 16)
    finally:
        os.close(file)
