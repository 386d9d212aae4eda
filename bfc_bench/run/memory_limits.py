"""Measures the memory of a batch and of the machine, and recognises errors that mean out of memory."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

from bfc_bench.errors import error_text
from bfc_bench.executors.memory import READABLE

NO_MEMORY = ("RESOURCE_EXHAUSTED", "can't allocate memory", "YNNPACK operation failed: error")
"""Parts of error messages of JAX, torch and XLA's matrix products (which hide the cause) when they get no memory."""


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


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception of Python, NumPy, torch or JAX means that memory ran out."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ in {"OutOfMemoryError", "_ArrayMemoryError"}
        or any(text in error_text(error) for text in NO_MEMORY)
    )


def memory_warnings(jobs: int, budget_gb: float) -> list[str]:
    """Warnings about ``jobs`` workers whose cells may use ``budget_gb`` GB each, a line each."""
    if not READABLE:
        return ["memory is not limited on this platform, which has no /proc: a cell may take more than its budget."]
    available = machine_memory() / 1e9
    if jobs * budget_gb <= available:
        return []
    return [
        f"the workers ({jobs}) may take {jobs * budget_gb:.3g} GB of memory; this machine has {available:.3g} GB. "
        f"Use fewer --jobs or --set budget.memory_gb={available / jobs:.2g} if it runs short."
    ]


def machine_memory(root: Path = Path("/")) -> int:
    """Bytes of memory for this process and its children: the machine's, or the limit of its control group (version 2).

    ``root`` is the folder with ``proc`` and ``sys``.
    """
    limits = [int((root / "proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024]
    top = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        if line.startswith("0::"):
            group = top / line.removeprefix("0::").lstrip("/")
            folders = [folder for folder in (group, *group.parents) if folder.is_relative_to(top)]
            limits += [int(text) for folder in folders for text in _lines(folder / "memory.max") if text.isdigit()]
    return min(limits)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
