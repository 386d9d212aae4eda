"""What a unit of work may tell the executor that runs it. Where that does not listen, nothing happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    pass


def _no_limit(memory_bytes: int, refuse: bool) -> None:
    pass


@dataclass
class WorkerContext:
    """Who listens in this process."""

    clock_starts: Callable[[], None] = _nothing
    last_unit: Callable[[], None] = _nothing
    may_take: Callable[[int, bool], None] = _no_limit


context = WorkerContext()


def clock_starts() -> None:
    """The unit's time counts from now, not what it has imported and prepared; said twice, the first counts."""
    context.clock_starts()


def last_unit() -> None:
    """This process shall get no unit after this one, another takes its place."""
    context.last_unit()


def may_take(memory_bytes: int, *, refuse: bool = True) -> None:
    """Until it ends the unit may take so much memory beyond what the process holds now, libraries loaded before it.

    A unit that holds more is ended. With ``refuse`` the system also refuses what is far too much, so that it raises.
    """
    context.may_take(memory_bytes, refuse)
