"""How trying a law ends early: it is broken, or it does not apply."""

from __future__ import annotations

from typing import NoReturn


class Skip(Exception):
    """Raised by a law that does not apply to a learner, with the reason."""


def skip(reason: str) -> NoReturn:
    """Leave a law as not applicable."""
    raise Skip(reason)


def require(holds: bool, otherwise: str) -> None:
    """Break a law with a reason unless it holds."""
    if not holds:
        raise AssertionError(otherwise)
