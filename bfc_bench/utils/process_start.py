"""Says when a process started, which tells it from a later one of the same number."""

from __future__ import annotations

from pathlib import Path


def process_start(process: int) -> str:
    """The boot id of this machine and the start of a process in ticks; empty if the process does not exist or the
    platform has no ``/proc``."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        state, *facts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else f"{boot}/{facts[18]}"
