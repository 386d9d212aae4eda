"""Faults that are provoked for real, with what must come of each and what came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec

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
    needs: str = ""
    """A library without which they cannot be provoked."""

    @property
    def possible(self) -> bool:
        """Whether they can be provoked here."""
        return not self.needs or find_spec(self.needs) is not None

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
