"""Detects threads, child processes and timers that a learner has left running."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
HARMLESS_THREADS = {"tqdm._monitor"}
"""Modules whose threads only wait. The thread of progress bars stays after the first bar."""
HARMLESS_PROCESSES = ("resource_tracker",)
"""Words in the command line of processes that only wait, here to remove shared memory at the end."""
PATIENCE = 0.2
"""Seconds to wait for threads and processes that are about to end."""


class ThreadsAndChildren:
    """The threads and child processes of this process."""

    def __init__(self) -> None:
        self.snapshot()

    def snapshot(self) -> None:
        """Record the present threads and child processes."""
        self._threads, self._children = set(threading.enumerate()), _children()

    def track_new(self) -> None:
        """Does nothing, since libraries add nothing here."""

    def restore(self) -> list[str]:
        """End new processes and timers (threads cannot be ended). Returns a description of each, and of new threads."""
        running = []
        for timer in TIMERS:
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
                running.append("a timer that is running")
        until = time.monotonic() + PATIENCE
        for thread in threading.enumerate():
            if thread not in self._threads and _matters(thread):
                thread.join(max(0.0, until - time.monotonic()))
                if thread.is_alive():
                    self._threads.add(thread)  # reported once, for the learner that started it
                    running.append(f"a thread that is still running: {thread.name}")
        for child in _children() - self._children:
            if (command := _command(child, until)) is not None:
                _end(child)
                running.append(f"a process that is still running: {command}")
        return running


def _matters(thread: threading.Thread) -> bool:
    """Whether to report a thread. Threads of native libraries that have called Python are ignored."""
    dummy = isinstance(thread, threading._DummyThread)
    return not dummy and type(thread).__module__ not in HARMLESS_THREADS


def _children() -> set[int]:
    """Ids of the child processes; empty if the system does not list them."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # no children: by far the fastest check
        return set()
    children: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            children.update(map(int, task.read_text().split()))
    return children


def _command(child: int, until: float) -> str | None:
    """The command line of a process that still runs at ``until``, or None."""
    while True:
        try:
            words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
        except OSError:
            return None
        command = " ".join(words).strip()
        if any(word in command for word in HARMLESS_PROCESSES):
            return None
        if time.monotonic() > until:  # empty for a process that has ended or is just starting
            return command[:80] or None
        time.sleep(0.01)


def _end(child: int) -> None:
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
