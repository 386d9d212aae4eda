"""Functions with which a unit of work informs its executor. Without an executor that listens, they do nothing."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class WorkerContext:
    """What the functions of this module call; a worker process sets it."""

    clock_starts: Callable[[], None] = lambda: None
    may_take: Callable[[int, bool], None] = lambda memory_bytes, refuse: None


context = WorkerContext()


def clock_starts() -> None:
    """Start the unit's clock, after imports and preparation. Later calls are ignored."""
    context.clock_starts()


def may_take(memory_bytes: int, *, refuse: bool = True) -> None:
    """Limit the memory of this unit, counted from what the process holds now.

    A unit that holds more is ended. With ``refuse``, the system also refuses requests far above the limit.
    """
    context.may_take(memory_bytes, refuse)
