"""Faults that are provoked for real, with what must come of each and what came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.faults.place import Place


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong, and what must come of it."""

    what: str
    expected: str
    provoke: Callable[[Place], str]
    """Does it and tells what came, in the words of ``expected`` where it is that."""


@dataclass
class Family:
    """Faults of one kind; they share a place."""

    name: str
    faults: list[Fault] = field(default_factory=list)
    lacking: Callable[[], str] = str
    """Says what this machine lacks that they need; an empty text where there is nothing."""

    def __call__(self, what: str, expected: str) -> Callable[[Callable[[Place], str]], Callable[[Place], str]]:
        """Note the decorated function as the one that provokes a fault."""

        def note(provoke: Callable[[Place], str]) -> Callable[[Place], str]:
            self.faults.append(Fault(what, expected, provoke))
            return provoke

        return note


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    family: str
    fault: str
    expected: str
    got: str

    @property
    def holds(self) -> bool:
        """Whether that came which must come."""
        return self.got == self.expected
