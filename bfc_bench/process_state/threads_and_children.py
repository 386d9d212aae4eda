"""What goes on in a process by itself: threads, child processes, timers."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
HARMLESS_THREADS = {"tqdm._monitor"}
"""Modules whose threads only wait: the one behind progress bars stays for ever once there was a bar."""
HARMLESS_PROCESSES = ("resource_tracker",)
"""Words in the command line of processes that only wait: they remove shared memory when everybody has ended."""
PATIENCE = 0.2
"""Seconds for threads and processes that are about to end."""


class ThreadsAndChildren:
    """The threads and child processes of this process."""

    def __init__(self) -> None:
        self.snapshot()

    def snapshot(self) -> None:
        """Take what is now for what shall be."""
        self._threads, self._children = set(threading.enumerate()), _children()

    def track_new(self) -> None:
        """Nothing here comes with a library."""

    def restore(self) -> list[str]:
        """What is running that did not, each named. Processes and timers are ended; a thread cannot be."""
        found = []
        for timer in TIMERS:
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
                found.append("a timer that is running")
        until = time.monotonic() + PATIENCE
        for thread in threading.enumerate():
            if thread not in self._threads and _matters(thread):
                thread.join(max(0.0, until - time.monotonic()))
                if thread.is_alive():
                    self._threads.add(thread)  # named once: it stays, and is not the next one's fault
                    found.append(f"a thread that is still running: {thread.name}")
        for child in _children() - self._children:
            if (command := _command(child, until)) is not None:
                _end(child)
                found.append(f"a process that is still running: {command}")
        return found


def _matters(thread: threading.Thread) -> bool:
    """Not those of native libraries, which Python knows since they have called it."""
    dummy = isinstance(thread, threading._DummyThread)
    return not dummy and type(thread).__module__ not in HARMLESS_THREADS


def _children() -> set[int]:
    """Their process ids; where the system does not list them, none."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none: by far the quickest answer
        return set()
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(map(int, task.read_text().split()))
    return found


def _command(child: int, until: float) -> str | None:
    """The command line of a process that is still running when ``until`` has passed, or None."""
    while True:
        try:
            words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
        except OSError:
            return None
        command = " ".join(words).strip()
        if any(word in command for word in HARMLESS_PROCESSES):
            return None
        if time.monotonic() > until:  # one that has ended has no command line, nor has one that is just beginning
            return command[:80] or None
        time.sleep(0.01)


def _end(child: int) -> None:
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
