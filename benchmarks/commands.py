"""Measures the CPU time of commands, with cached bytecode as in an installation."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from benchmarks.measurement import children_cpu, timed


def command_cpu(*arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """CPU seconds of ``python ARGUMENTS``. Raises ``CalledProcessError`` if it fails."""
    compiled = {k: v for k, v in (environment or os.environ).items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True, env=compiled)

    return timed(run, children_cpu)
