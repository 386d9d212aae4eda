"""A clock that stops while its process is suspended, so that limits on time count only what was watched."""

from __future__ import annotations

import time

LONGEST = 1.0
"""Seconds between two readings from which on the process counts as suspended."""


class WatchedClock:
    """Seconds on the clock of ``time.monotonic`` without the pauses between two readings that are longer than LONGEST.

    A session reads it many times per second. If there is a longer pause, the session was stopped (SIGSTOP, ``docker
    pause``, a machine that slept), usually with its workers, which could not use that time either.
    """

    def __init__(self) -> None:
        self._read = time.monotonic()
        self._earlier = 0.0
        """Length of all pauses but the last."""
        self._pause = self._read, self._read
        """Start and end of the last pause."""

    def now(self) -> float:
        """The reading of this moment."""
        now = time.monotonic()
        if now - self._read > LONGEST:
            start, end = self._pause
            self._earlier += end - start
            self._pause = self._read, now
        self._read = now
        return self.at(now)

    def at(self, moment: float) -> float:
        """The reading of a moment of ``time.monotonic`` that another process of this machine has sent.

        Between its sending and its arrival there is at most one pause.
        """
        start, end = self._pause
        return moment - self._earlier - min(max(moment - start, 0.0), end - start)
