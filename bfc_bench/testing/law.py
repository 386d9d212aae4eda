"""What a law is: a named function that must hold for every learner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from bfc_bench.testing.trial import Trial


class Skip(Exception):
    """Raised by a law that does not apply to a learner, with the reason."""


@dataclass(frozen=True)
class Law:
    """A law: calling ``holds`` raises when it is broken, ``Skip`` when it does not apply."""

    holds: Callable[[Trial], None]
    needs: tuple[Law, ...]
    """Laws without which this one cannot be tried."""

    @property
    def name(self) -> str:
        """The law in words."""
        return self.holds.__name__.replace("_", " ")


def law(*needs: Law) -> Callable[[Callable[[Trial], None]], Law]:
    """Make a function a law that is tried when those in ``needs`` hold."""
    return lambda holds: Law(holds, needs)


def laws_of(module: ModuleType) -> list[Law]:
    """The laws that a module defines, in its order."""
    defined = (value for value in vars(module).values() if isinstance(value, Law))
    return [law for law in dict.fromkeys(defined) if law.holds.__module__ == module.__name__]


def skip(reason: str) -> NoReturn:
    """Leave a law as not applicable."""
    raise Skip(reason)


def require(holds: bool, otherwise: str) -> None:
    """Break a law with a reason unless it holds."""
    if not holds:
        raise AssertionError(otherwise)
