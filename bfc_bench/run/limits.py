"""Memory: how much a batch took, and whether an exception means that there was not enough."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress


class PeakMemory:
    """Peak resident memory of this process since the object was made, above what it held then."""

    def __init__(self) -> None:
        with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # Linux: restart the peak
        self._before = _status(b"VmRSS:") or _peak()

    def bytes(self) -> int:
        """The peak so far, in bytes above the start."""
        return max(0, _peak() - self._before)


def _status(key: bytes) -> int | None:
    """A size in bytes from this process's status on Linux, or None elsewhere."""
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            text = file.read()
    except OSError:
        return None
    _, found, rest = text.partition(key)
    return int(rest.split(None, 1)[0]) * 1024 if found else None


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return _status(b"VmHWM:") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def is_out_of_memory(error: Exception) -> bool:
    """Whether an exception of Python, NumPy, torch or JAX means that memory ran out."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ in {"OutOfMemoryError", "_ArrayMemoryError"}
        or "RESOURCE_EXHAUSTED" in str(error)
        or "can't allocate memory" in str(error)
    )
