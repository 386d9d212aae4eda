"""Commands as a user types them, measured by their CPU time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from benchmarks.measurement import children_cpu, timed


def command_cpu(*arguments: str, environment: Mapping[str, str] | None = None) -> float:
    """CPU seconds of ``python ARGUMENTS``. Raises ``CalledProcessError`` when it fails."""

    def run() -> None:
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True, env=environment)

    return timed(run, children_cpu)
