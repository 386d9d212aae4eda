"""Measures how long a fit takes, and how much of that it waits for something other than a core."""

import os
import time
from pathlib import Path


class Stopwatch:
    """Measures CPU time, wall time and waiting time of this process from its creation on.

    The waiting time is the wall time without the CPU time and without the time for which a thread that was ready had no
    core, which Linux counts in ``/proc/PID/task/TID/schedstat``. So it does not grow on a busy machine. With several
    threads at once it is a lower bound, 0 if they compute all the time. What a thread that has ended had waited for a
    core is not known any more and counts as waiting.
    """

    def __init__(self) -> None:
        self._cpu, self._wall, self._queued = time.process_time(), time.perf_counter(), _queued()

    def seconds(self) -> dict[str, float]:
        """The columns of a row for the time until now: CPU and wall time, and waiting time where it is known."""
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        seconds, now = {"fit_cpu_seconds": cpu, "fit_wall_seconds": wall}, _queued()
        if self._queued is not None and now is not None:
            queued = sum(waited - self._queued.get(thread, 0.0) for thread, waited in now.items())
            seconds["fit_wait_seconds"] = max(0.0, wall - cpu - queued)
        return seconds


def _queued() -> dict[str, float] | None:
    """Seconds for which each thread of this process was ready but had no core; None if the system does not say."""
    seconds = {}
    try:
        for thread in os.listdir("/proc/self/task"):
            try:
                text = Path("/proc/self/task", thread, "schedstat").read_text()
            except (FileNotFoundError, ProcessLookupError):  # the thread has ended
                continue
            seconds[thread] = int(text.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return None
    return seconds or None
