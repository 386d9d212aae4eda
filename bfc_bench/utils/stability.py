"""A mark for what may still change; ``docs/project/releasing.md`` says what each mark promises."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def provisional(since: str) -> Callable[[T], T]:
    """Mark a class or a function that may change in a minor release; its documentation says so.

    What goes away is marked with ``typing_extensions.deprecated``, which type checkers know.
    """

    def mark(thing: T) -> T:
        text = cleandoc(thing.__doc__ or "")
        thing.__doc__ = f"{text}\n\nProvisional since {since}: may change in a minor release.\n"
        return thing

    return mark
