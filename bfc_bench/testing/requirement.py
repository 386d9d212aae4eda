"""``Requirement``, one test of the conformance kit; a test fails by ``require`` and is left out by ``skip``.

Below them is an assertion that requirements of several kinds of objects share.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn

from bfc_bench.config import Settings
from bfc_bench.utils.plain_json import canonical_json


class Skip(Exception):
    """Raised by a requirement that does not apply, with the reason."""


@dataclass(frozen=True)
class Requirement:
    """``test(trial)`` raises if the tested object violates the requirement, and ``Skip`` if it does not apply."""

    test: Callable[[Any], None]
    needs: tuple[Requirement, ...]
    """Requirements that must be met before this one can be tested."""

    @property
    def name(self) -> str:
        """The name of the test function, in words."""
        return self.test.__name__.replace("_", " ")


@dataclass(frozen=True)
class Subject:
    """What the kit tests: a learner or a part of a suite."""

    name: str
    trial: Any
    """Passed to the requirements; holds the tested object and what they share."""
    requirements: Sequence[Requirement]


def requirement(*needs: Requirement) -> Callable[[Callable[[Any], None]], Requirement]:
    """Decorator that makes a function a requirement, tested only if those in ``needs`` are met."""
    return lambda test: Requirement(test, needs)


def requirements_of(module: ModuleType) -> list[Requirement]:
    """The requirements that a module defines, in its order."""
    defined = (value for value in vars(module).values() if isinstance(value, Requirement))
    return [each for each in dict.fromkeys(defined) if each.test.__module__ == module.__name__]


def skip(reason: str) -> NoReturn:
    """Skip the current requirement."""
    raise Skip(reason)


def require(condition: bool, otherwise: str) -> None:
    """Fail the current requirement with the message ``otherwise`` unless the condition is true."""
    if not condition:
        raise AssertionError(otherwise)


def require_json(part: Settings, options_of: Callable[[Any], Mapping[str, Any]]) -> None:
    """Fail unless the options of ``part`` mean the same after they were stored as JSON."""
    options = options_of(part)
    again = options_of(type(part).parse(json.loads(canonical_json(options)), "options"))
    require(again == options, f"the options are {options} and, read back from JSON, {again}")
