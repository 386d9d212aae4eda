"""Kills the process groups of workers when their session has ended, even if it was killed.

Runs as a script in a process of its own, which reads lines ``+GROUP`` and ``-GROUP``. The kernel closes the pipe when
the session ends; the script then kills the groups that remain.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress


class Reaper:
    """Starts the script and tells it which process groups to kill."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-I", "-S", __file__]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # so that signals to the terminal's processes do not end it
        )

    def watch(self, group: int) -> None:
        """Kill this group when the session ends."""
        self._send(f"+{group}")

    def forget(self, group: int) -> None:
        """Do not kill this group any more: it has ended, and its number may be used again."""
        self._send(f"-{group}")

    def close(self) -> None:
        """End the script."""
        self._process.communicate()

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # the script was killed
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())


def main() -> None:
    """Read lines until the session's end of the pipe is closed, then kill the groups that remain."""
    if os.fork():  # not a child of the session: Ray's workers, for example, kill their children before they end
        os._exit(0)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
