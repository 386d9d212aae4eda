"""Finds parts of suites by name, and the requirements of each kind of part."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from bfc_bench.analysis.claims import Claim
from bfc_bench.config import Settings
from bfc_bench.errors import UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
from bfc_bench.testing import claim_kinds, data_sets, inputs, joint_laws, labelling, suites, targets
from bfc_bench.testing.requirement import Subject, requirements_of

KINDS: dict[type, tuple[Callable[[Any], Any], ModuleType]] = {
    Inputs: (inputs.InputsTrial, inputs),
    Target: (targets.TargetTrial, targets),
    JointLaw: (joint_laws.JointTrial, joint_laws),
    Labels: (labelling.LabelsTrial, labelling),
    DataSet: (data_sets.DataTrial, data_sets),
    Claim: (claim_kinds.ClaimTrial, claim_kinds),
    Path: (suites.SuiteTrial, suites),
}
"""By base class, the class of the trial and the module of the requirements."""


def part_subject(part: type[Settings] | Settings | Path) -> Subject:
    """The subject of ``check_part``."""
    if isinstance(part, type) and issubclass(part, Settings):
        part = part.parse(_required(part), f"check: {part.__name__}")
    for base, (trial, module) in KINDS.items():
        if isinstance(part, base):
            name = part.stem if isinstance(part, Path) else str(getattr(part, "kind", type(part).__name__))
            return Subject(name, trial(part), requirements_of(module))
    raise UsageError(
        "check_part expects an Inputs, Target, JointLaw, Labels, DataSet or Claim, class or instance, or the path of a "
        f"suite. Got {part!r}."
    )


def find_parts(name: str, options: dict[str, Any]) -> list[Settings | Path]:
    """The parts that a name stands for, made with ``options``; none if it names a learner, an executor or nothing.

    ``name`` is a file, a registered name or ``module:Class``. Raises ``UsageError`` for options that are unknown,
    missing or out of range.
    """
    if Path(name).is_file():
        return [Path(name)]
    plugins = load_plugins()
    module, _, attribute = name.partition(":")
    if name in plugins.learners or module in plugins.learners:
        return []
    of_tasks = (plugins.inputs, plugins.targets, plugins.laws, plugins.labels, plugins.data)
    registries = (*of_tasks, plugins.claims, plugins.suites)
    classes: list[Any] = [registry.get(name) for registry in registries if name in registry]
    if not classes and attribute:
        classes = [plugins.data.get(module).variant(attribute)] if module in plugins.data else _class(module, attribute)
    return [part if isinstance(part, Path) else _instance(part, options, name) for part in classes]


def _instance(cls: type[Settings], options: dict[str, Any], name: str) -> Settings:
    try:
        return cls.parse({**_required(cls), **options}, f"check: {name}")
    except UsageError as error:
        raise UsageError(f"{error} Give options by --set KEY=VALUE.") from None


def _required(cls: type[Settings]) -> dict[str, Any]:
    """Options of every claim that say nothing about its kind."""
    return {"id": "check"} if issubclass(cls, Claim) else {}


def _class(module: str, attribute: str) -> list[type[Settings]]:
    """The class in a module, if it is a part."""
    sys.path.insert(0, "")  # console scripts do not search the current folder
    try:
        cls = getattr(import_module(module), attribute, None)
    except ImportError:
        return []  # the search for a learner reports the error
    kinds = tuple(kind for kind in KINDS if kind is not Path)
    return [cls] if isinstance(cls, type) and issubclass(cls, Settings) and issubclass(cls, kinds) else []
