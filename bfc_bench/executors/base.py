"""What an executor is: it runs units of work somewhere and says how each ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Fault:
    """A unit that gave no result."""

    kind: Literal["raised", "timeout", "memory", "killed", "lost"]
    """``lost``: its worker was ended from outside, through no doing of the unit as far as can be told."""
    reason: str
    traceback: str = ""


class Pool(Protocol):
    """An open executor."""

    def submit(self, key: int, payload: Any, seconds: float) -> None:
        """Queue one unit; it is stopped when it has run for ``seconds`` since it called ``unit.clock_starts``."""

    def outcomes(self) -> Iterator[tuple[int, Any | Fault]]:
        """(key, result or Fault) as units end, until none is queued; more may be submitted meanwhile."""

    def close(self, now: bool = False) -> None:
        """Release the workers; with ``now`` stop what runs."""


class Executor(Protocol):
    """Opens pools. A fault of one unit never touches another.

    An executor that runs its units in the session's process says so with ``in_process = True``: objects that cannot be
    sent to another process are good enough for it.
    """

    jobs: int
    """Number of workers."""
    enforces_limits: bool
    """Whether a unit that never returns is stopped."""

    def open(self, call: Callable[[Any], Any], prepare: Callable[[], object] | None = None) -> Pool:
        """A pool whose workers apply ``call``, a picklable function that gives bytes, to each payload.

        ``prepare`` runs in each worker before its first unit, on nobody's time.
        """
