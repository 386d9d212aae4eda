"""Processes of this machine: whether one that was written down is still the same, and there."""

from __future__ import annotations

import platform
from pathlib import Path


def process_start(process: int) -> str:
    """When a process began, in ticks since this boot of its machine, which is named; empty where it is not there, or
    the platform does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        ticks, state = _ticks(process)
    except OSError:
        return ""
    return "" if state == "Z" else f"{boot}/{ticks}"


def is_alive(host: str, process: int, started: str) -> bool | None:
    """Whether a process that was written down runs; None on another machine, or where the platform does not tell."""
    if host != platform.node() or not started or not Path("/proc/self/stat").exists():
        return None
    return process_start(process) == started


def _ticks(process: int) -> tuple[str, str]:
    """The time at which it began, and its state."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return fields[19], fields[0]
