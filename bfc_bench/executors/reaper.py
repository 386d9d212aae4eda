"""Ends process groups when the process that writes to its input has ended, in whatever way.

A script of its own: the kernel closes the pipe of a session that is killed, and nobody else is there then to end what
its workers have started. Lines say ``+GROUP`` and ``-GROUP``; what is left when there are no more lines is killed.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress


class Reaper:
    """The session's side of the script."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        command = [sys.executable, "-I", "-S", __file__]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # what is sent to the terminal's processes must not end it
        )

    def watch(self, group: int) -> None:
        """This group shall not outlive the session."""
        self._say(f"+{group}")

    def forget(self, group: int) -> None:
        """The group has ended; another one may get its number."""
        self._say(f"-{group}")

    def close(self) -> None:
        """There is nothing more to guard."""
        self._process.communicate()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # whoever has ended the guard has to end the rest
            os.write(self._process.stdin.fileno(), f"{line}\n".encode())


def main() -> None:
    """Read until the session's end of the pipe is closed, as nobody's child: some programs end theirs before they end.

    Ray's workers do.
    """
    if os.fork():
        os._exit(0)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
