"""Measures how much memory a fit takes."""

import resource
import sys
from contextlib import suppress
from pathlib import Path


class PeakMemory:
    """Peak resident memory of this process since this object was made, above what it held then."""

    def __init__(self) -> None:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_bytes(b"5")  # Linux: the peak is then what the process holds now
        self._before = _peak()

    def bytes(self) -> int:
        """The peak so far, in bytes above the start."""
        return max(0, _peak() - self._before)


def _peak() -> int:
    try:
        return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
