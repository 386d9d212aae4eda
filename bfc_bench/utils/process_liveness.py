"""Checks whether a recorded process is still alive, even if its number has been used again."""

from __future__ import annotations

import platform
from pathlib import Path


def process_start(process: int) -> str:
    """The boot id of this machine and the start of a process in ticks; empty if the process does not exist or the
    platform has no ``/proc``."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks, state = _ticks(process)
    except OSError:
        return ""
    return "" if state == "Z" else f"{boot}/{ticks}"


def is_alive(host: str, process: int, started: str) -> bool | None:
    """Whether a recorded process runs; None if it is on another machine or the platform has no ``/proc``.

    Args:
        host: Name of its machine.
        process: Process id.
        started: Its ``process_start``.
    """
    if host != platform.node() or not started or not Path("/proc/self/stat").exists():
        return None
    return process_start(process) == started


def _ticks(process: int) -> tuple[str, str]:
    """Start of a process in ticks since boot, and its state."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return fields[19], fields[0]
