"""What a law is: a named function that must hold for every learner, executor or part of a suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Requirement:
    """A law: calling ``holds`` with a trial raises when it is broken, ``Skip`` when it does not apply."""

    holds: Callable[[Any], None]
    needs: tuple[Requirement, ...]
    """Laws without which this one cannot be tried."""

    @property
    def name(self) -> str:
        """The law in words."""
        return self.holds.__name__.replace("_", " ")


def law(*needs: Requirement) -> Callable[[Callable[[Any], None]], Requirement]:
    """Make a function a law that is tried when those in ``needs`` hold."""
    return lambda holds: Requirement(holds, needs)


def laws_of(module: ModuleType) -> list[Requirement]:
    """The laws that a module defines, in its order."""
    defined = (value for value in vars(module).values() if isinstance(value, Requirement))
    return [law for law in dict.fromkeys(defined) if law.holds.__module__ == module.__name__]
