"""Real faults, each with its expected and its actual outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.faults.place import Place


@dataclass(frozen=True)
class Fault:
    """A fault and its expected outcome."""

    what: str
    expected: str
    provoke: Callable[[Place], str]
    """Provokes the fault and returns its outcome, which equals ``expected`` if all is well."""


@dataclass
class Family:
    """Faults of one kind, which run in one folder."""

    name: str
    faults: list[Fault] = field(default_factory=list)
    lacking: Callable[[], str] = str
    """Returns what this machine lacks to provoke them, or an empty text."""

    def __call__(self, what: str, expected: str) -> Callable[[Callable[[Place], str]], Callable[[Place], str]]:
        """Decorator that adds a function which provokes a fault."""

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
        """Whether the outcome is the expected one."""
        return self.got == self.expected
