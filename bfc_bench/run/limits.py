"""Memory: how much a batch took, and whether an exception means that there was not enough."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from bfc_bench.errors import message

T = TypeVar("T")


class PeakMemory:
    """Peak resident memory of this process since the object was made, above what it held then.

    Made for every cell: on Linux the files are read and written without Python's buffers, which take longer.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            _file("/proc/self/clear_refs", os.O_WRONLY, lambda file: os.write(file, b"5"))  # Linux: restart the peak
        self._before = _resident() or _peak()

    def bytes(self) -> int:
        """The peak so far, in bytes above the start."""
        return max(0, _peak() - self._before)


def _resident() -> int | None:
    """What this process holds on Linux, or None elsewhere."""
    try:
        return int(_file("/proc/self/statm", os.O_RDONLY, _content).split()[1]) * resource.getpagesize()
    except OSError:
        return None


def _peak() -> int:
    try:
        _, _, rest = _file("/proc/self/status", os.O_RDONLY, _content).partition(b"VmHWM:")
        return int(rest.split(None, 1)[0]) * 1024
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _content(file: int) -> bytes:
    return os.read(file, 1 << 16)


def _file(path: str, flags: int, use: Callable[[int], T]) -> T:
    file = os.open(path, flags)
    try:
        return use(file)
    finally:
        os.close(file)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of Python, NumPy, torch or JAX means that memory ran out."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ in {"OutOfMemoryError", "_ArrayMemoryError"}
        or any(text in message(error) for text in ("RESOURCE_EXHAUSTED", "can't allocate memory"))
    )
