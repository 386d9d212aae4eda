"""Finds what a name stands for, and the requirements of each kind of part."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bfc_bench.analysis.claims import Claim
from bfc_bench.config import Settings
from bfc_bench.errors import NEAR, UsageError, describe_error, suggest
from bfc_bench.executors.base import Executor
from bfc_bench.learner import Learner
from bfc_bench.plugins import load_plugins
from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
from bfc_bench.tasks.metrics import Metric
from bfc_bench.testing import other_parts, task_parts
from bfc_bench.testing.requirement import Requirement, Subject, requirements_of

TASK_PARTS = (Inputs, Target, JointLaw, Labels, DataSet, Metric)
WITH_A_BASE = (Learner, Executor, Claim, *TASK_PARTS)
OTHERS: Mapping[str, Sequence[Requirement]] = {
    "claim": (other_parts.curves_get_a_verdict, other_parts.one_replicate_decides_nothing),
    "suite": (other_parts.it_plans_cells,),
    "plot": (other_parts.its_figures_can_be_drawn,),
    "verb": (other_parts.its_help_is_printed,),
    "listener": (other_parts.it_hears_a_run,),
}
"""Requirements of the parts that no task has, by kind."""
WITHOUT_BASE = ("plot", "verb", "listener")
"""Kinds of functions, and of modules and objects with hooks, which must be stated."""


def part_subject(part: Any, kind: str = "", options: Mapping[str, Any] | None = None) -> Subject:
    """The subject of ``check_part``. Raises ``UsageError`` if nothing is known about such a part."""
    if kind and kind not in WITHOUT_BASE:
        raise UsageError(f"check_part: kind must be one of {', '.join(WITHOUT_BASE)}. Got {kind!r}.")
    name = str(getattr(part, "kind", None) or getattr(part, "name", None) or getattr(part, "__name__", part))
    if kind:
        if kind != "listener" and not callable(part):
            raise UsageError(f"check: a {kind} must be a function. Got {part!r}.")
        return Subject(name, part() if kind == "listener" and isinstance(part, type) else part, OTHERS[kind])
    if isinstance(part, type) and issubclass(part, Settings):
        needed = {"id": "check"} if issubclass(part, Claim) else {}
        part = part.parse({**needed, **(options or {})}, f"check: {name}")
    elif options:
        raise UsageError(f"check: {name!r} has no options, so that --set does not apply.")
    if isinstance(part, Path):
        return Subject(part.stem, part, OTHERS["suite"])
    if isinstance(part, Claim):
        return Subject(name, part, OTHERS["claim"])
    if isinstance(part, TASK_PARTS):
        return Subject(name, task_parts.PartTrial(part), requirements_of(task_parts))
    raise UsageError(
        "check_part expects an Inputs, Target, JointLaw, Labels, DataSet or Claim, class or instance, a Metric, the "
        f"path of a suite, or something with kind= {', '.join(WITHOUT_BASE)}. Got {part!r}."
    )


def find(name: str, kind: str = "") -> list[tuple[Any, str]]:
    """What a name stands for, each with its kind if that must be stated."""
    plugins = load_plugins()
    registries = [each for each in plugins.registries.values() if kind in ("", each.kind)]
    known = [*(registry.kind for registry in plugins.registries.values()), "listener"]
    if kind and kind not in known:
        raise UsageError(f"--kind {kind}: there is no such kind.{suggest(kind, known)}")
    if Path(name).is_file() and kind in ("", plugins.suites.kind):
        return [(Path(name), "")]
    scheme, _, path = name.partition(":")
    found = []
    for registry in registries:
        variants = path and registry is plugins.learners and scheme in registry
        if name in registry or variants:
            found.append((registry.find(name), registry.kind if registry.kind in WITHOUT_BASE else ""))
    if found:
        return found
    names = {known for registry in registries for known in registry}
    near = suggest(name, names)
    if (path or kind == "listener") and kind in ("", *WITHOUT_BASE):
        return [(_in_module(scheme, path, kind), kind)]
    hint = near if near.startswith(NEAR) else ""
    raise UsageError(f"check: there is no {kind or 'file and no part'} {name!r}, see `bfc-bench list`.{hint}")


def _in_module(module: str, attribute: str, kind: str) -> Any:
    """An attribute of a module, or the module. Raises ``UsageError`` if it is of no kind."""
    sys.path.insert(0, "")  # console scripts do not search the current folder
    try:
        held: Any = import_module(module)
    except Exception as error:  # the module's own
        raise UsageError(f"check: the module {module!r} cannot be imported: {describe_error(error)}.") from None
    if not attribute:
        return held
    if not hasattr(held, attribute):
        raise UsageError(f"check: the module {module!r} has no {attribute!r}.{suggest(attribute, vars(held))}")
    part = getattr(held, attribute)
    if kind or isinstance(part, Metric) or (isinstance(part, type) and issubclass(part, WITH_A_BASE)):
        return part
    bases = ", ".join(sorted(base.__name__ for base in WITH_A_BASE if base is not Metric))
    raise UsageError(
        f"check: {module}:{attribute} must be a Metric or a subclass of one of {bases}. Add --kind plot or --kind verb "
        "for a function, and --kind listener for what listens to runs."
    )
