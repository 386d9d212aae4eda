"""What the kit tests of each kind of part, and with which requirements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bfc_bench.analysis.claims import Claim
from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.learner import Learner
from bfc_bench.testing import batching, description, fitting, other_parts, task_parts
from bfc_bench.testing.learner_trial import LearnerTrial
from bfc_bench.testing.requirement import Requirement, Subject, requirements_of

OTHERS: Mapping[str, Sequence[Requirement]] = {
    "claim": (other_parts.curves_get_a_verdict, other_parts.one_replicate_decides_nothing),
    "suite": (other_parts.it_plans_cells,),
}
"""Requirements of the parts that no task has, by kind."""


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
        return Subject(part.stem, part, OTHERS["suite"])
    if isinstance(part, Claim):
        return Subject(name, part, OTHERS["claim"])
    if isinstance(part, tuple(task_parts.EXAMINED)):
        return Subject(name, task_parts.PartTrial(part), requirements_of(task_parts))
    bases = ", ".join(base.__name__ for base in (Learner, Claim, *task_parts.EXAMINED))
    raise UsageError(f"check: expected one of {bases}, class or instance, or the path of a suite. Got {part!r}.")


def _learner(part: Any, cls: type[Learner], options: Mapping[str, Any]) -> Subject:
    if isinstance(part, type) and cls.example is not None:
        cls = cls.variant(cls.example)
    own = part.options() if isinstance(part, Learner) else cls.smoke
    requirements = [each for module in (description, fitting, batching) for each in requirements_of(module)]
    name = str(getattr(cls, "name", cls.__name__))
    return Subject(name, LearnerTrial(cls, {**own, **options}), requirements)
