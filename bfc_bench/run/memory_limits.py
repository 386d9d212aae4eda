"""Measures the memory of a batch and of the machine, and recognises errors that mean out of memory."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from bfc_bench.errors import error_text
from bfc_bench.executors.memory import READABLE

T = TypeVar("T")
NO_MEMORY = ("RESOURCE_EXHAUSTED", "can't allocate memory", "YNNPACK operation failed: error")
"""Parts of error messages of JAX, torch and XLA's matrix products (which hide the cause) when they get no memory."""


class PeakMemory:
    """Peak resident memory of this process since this object was made, above what it held then.

    Made for each cell, so files are read and written without Python's slower buffers.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            _file("/proc/self/clear_refs", os.O_WRONLY, lambda file: os.write(file, b"5"))  # Linux: reset the peak
        self._before = _resident() or _peak()

    def bytes(self) -> int:
        """The peak so far, in bytes above the start."""
        return max(0, _peak() - self._before)


def _resident() -> int | None:
    """Resident bytes of this process on Linux, or None elsewhere."""
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
        or any(text in error_text(error) for text in NO_MEMORY)
    )


def memory_warnings(jobs: int, budget_gb: float) -> list[str]:
    """Warnings about ``jobs`` workers whose cells may use ``budget_gb`` GB each, a line each."""
    if not READABLE:
        return ["memory is not limited on this platform, which has no /proc: a cell may take more than its budget."]
    available = machine_memory() / 1e9
    if jobs * budget_gb <= available:
        return []
    workers = "1 worker" if jobs == 1 else f"{jobs} workers"
    advice = f"--set budget.memory_gb={available / jobs:.2g}"
    if (fewer := int(available / budget_gb)) >= 1:
        advice = f"--jobs {fewer} or {advice}"
    return [
        f"{workers} may take {jobs * budget_gb:.3g} GB of memory, {budget_gb:.3g} GB each; "
        f"this machine has {available:.3g} GB. Use {advice} if it runs short."
    ]


def machine_memory(root: Path = Path("/")) -> int:
    """Bytes of memory for this process and its children: the machine's, or the limit of a control group.

    ``root`` is the folder with ``proc`` and ``sys``.
    """
    total = int((root / "proc/meminfo").read_text().split("MemTotal:")[1].split()[0]) * 1024
    limits = [total]
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        hierarchy, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        top = root / "sys/fs/cgroup" / hierarchy
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):  # a container sees its own group as the top one
            limits += [int(text) for text in _lines(folder / name) if text.isdigit()]
            if folder == top:
                break
    return min(limits)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
