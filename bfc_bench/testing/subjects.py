"""Finds what a name stands for, and with which requirements the kit tests it."""

import sys
from collections.abc import Mapping
from importlib import import_module
from inspect import isclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bfc_bench.analysis.claims import Claim
from bfc_bench.config import Settings
from bfc_bench.errors import UsageError, describe_error, suggest
from bfc_bench.learner import Learner
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.registry import broken_plugins
from bfc_bench.testing import description, fitting, other_parts, task_parts
from bfc_bench.testing.learner_trial import LearnerTrial
from bfc_bench.testing.requirement import Subject, requirements_of


def find(name: str) -> list[Any]:
    """What a name stands for, of any kind."""
    plugins = load_plugins()
    registries = plugins.registries.values()
    if Path(name).is_file():
        return [Path(name)]
    scheme, _, path = name.partition(":")
    matches = [
        registry.find(name)
        for registry in registries
        if name in registry or (path and registry is plugins.learners and scheme in registry)
    ]
    if matches:
        return matches
    if path:
        held = _in_module(scheme, path)
        return [plugins.learner(name) if isclass(held) and hasattr(held, "get_params") else held]
    hint = suggest(name, {known for registry in registries for known in registry})
    hint += broken_plugins(plugins.unavailable, name)
    raise UsageError(f"check: there is no file and no part {name!r}.{hint}")


def _in_module(module: str, attribute: str) -> Any:
    """An attribute of a module."""
    sys.path.insert(0, "")  # console scripts do not search the current folder
    try:
        held: Any = import_module(module)
    except Exception as error:  # the module's own
        raise UsageError(f"check: the module {module!r} cannot be imported: {describe_error(error)}.") from None
    if not hasattr(held, attribute):
        raise UsageError(f"check: the module {module!r} has no {attribute!r}.{suggest(attribute, vars(held))}")
    return getattr(held, attribute)


def subject_of(part: Any, options: Mapping[str, Any] = MappingProxyType({})) -> Subject:
    """A class, with ``options``, or an instance, as a subject. Raises ``UsageError`` if no requirement is known."""
    name = str(getattr(part, "kind", None) or getattr(part, "name", None) or getattr(part, "__name__", part))
    cls = part if isinstance(part, type) else type(part)
    if issubclass(cls, Learner):
        return _learner(part, cls, options)
    if isinstance(part, type) and issubclass(part, Settings):
        needed = {"id": "check"} if issubclass(part, Claim) else {}
        part = part.parse({**needed, **options}, f"check: {name}")
    elif options:
        raise UsageError(f"check: {name!r} has no options, so that --set does not apply.")
    if isinstance(part, Path):
        return Subject(part.stem, part, [other_parts.it_plans_cells])
    if isinstance(part, Claim):
        return Subject(name, part, [other_parts.curves_get_a_verdict, other_parts.one_replicate_decides_nothing])
    if isinstance(part, tuple(task_parts.EXAMINED)):
        return Subject(name, task_parts.PartTrial(part), requirements_of(task_parts))
    bases = ", ".join(base.__name__ for base in (Learner, Claim, *task_parts.EXAMINED))
    raise UsageError(f"check: expected one of {bases}, class or instance, or the path of a suite. Got {part!r}.")


def _learner(part: Any, cls: type[Learner], options: Mapping[str, Any]) -> Subject:
    if isinstance(part, type) and cls.example is not None:
        cls = cls.variant(cls.example)
    own = part.options() if isinstance(part, Learner) else cls.smoke
    requirements = [each for module in (description, fitting) for each in requirements_of(module)]
    name = str(getattr(cls, "name", cls.__name__))
    return Subject(name, LearnerTrial(cls, {**own, **options}), requirements)
