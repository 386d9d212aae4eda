"""What a law is: a named function that must hold for every learner, executor or part of a suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class ContractLaw:
    """A law: calling ``holds`` with a trial raises when it is broken, ``Skip`` when it does not apply."""

    holds: Callable[[Any], None]
    needs: tuple[ContractLaw, ...]
    """Laws without which this one cannot be tried."""

    @property
    def name(self) -> str:
        """The law in words."""
        return self.holds.__name__.replace("_", " ")


def law(*needs: ContractLaw) -> Callable[[Callable[[Any], None]], ContractLaw]:
    """Make a function a law that is tried when those in ``needs`` hold."""
    return lambda holds: ContractLaw(holds, needs)


def laws_of(module: ModuleType) -> list[ContractLaw]:
    """The laws that a module defines, in its order."""
    defined = (value for value in vars(module).values() if isinstance(value, ContractLaw))
    return [law for law in dict.fromkeys(defined) if law.holds.__module__ == module.__name__]
