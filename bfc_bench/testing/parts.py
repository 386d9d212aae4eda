"""What is tried of each kind of part: its trial and its laws, and where a part is found by its name."""

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
from bfc_bench.tasks.base import DataSet, Inputs, Labels, Target
from bfc_bench.testing import claim_kinds, data_sets, inputs, labelling, suites, targets
from bfc_bench.testing.requirement import Requirement, laws_of

KINDS: dict[type, tuple[Callable[[Any], Any], ModuleType]] = {
    Inputs: (inputs.InputsTrial, inputs),
    Target: (targets.TargetTrial, targets),
    Labels: (labelling.LabelsTrial, labelling),
    DataSet: (data_sets.DataTrial, data_sets),
    Claim: (claim_kinds.ClaimTrial, claim_kinds),
    Path: (suites.SuiteTrial, suites),
}
"""By what a part is an instance of, its trial and the module of its laws."""


def trial_of(part: type[Settings] | Settings | Path) -> tuple[str, Any, list[Requirement]]:
    """A part's name, its trial and its laws. Raises ``UsageError`` for what has none."""
    if isinstance(part, type) and issubclass(part, Settings):
        part = part.parse({"id": "check"} if issubclass(part, Claim) else {}, f"check: {part.__name__}")
    for base, (trial, module) in KINDS.items():
        if isinstance(part, base):
            name = part.stem if isinstance(part, Path) else str(getattr(part, "kind", type(part).__name__))
            return name, trial(part), laws_of(module)
    raise UsageError(
        "check_part expects an Inputs, Target, Labels, DataSet or Claim, class or instance, or the path of a suite. "
        f"Got {part!r}."
    )


def find_parts(name: str, options: dict[str, Any]) -> list[Settings | Path]:
    """The parts that a name stands for, with ``options``: a file, a registered name, or ``module:Class``; none where it
    is a learner's, or nobody's.

    Raises ``UsageError`` for options that are unknown, missing or out of range.
    """
    if Path(name).is_file():
        return [Path(name)]
    plugins = load_plugins()
    module, _, attribute = name.partition(":")
    if name in plugins.learners or module in plugins.learners:
        return []
    registries = (plugins.inputs, plugins.targets, plugins.labels, plugins.data, plugins.claims, plugins.suites)
    found: list[Any] = [registry.get(name) for registry in registries if name in registry]
    if not found and attribute:
        found = [plugins.data.get(module).variant(attribute)] if module in plugins.data else _class(module, attribute)
    return [part if isinstance(part, Path) else _made(part, options, name) for part in found]


def _made(cls: type[Settings], options: dict[str, Any], name: str) -> Settings:
    named = {"id": "check", **options} if issubclass(cls, Claim) else options
    try:
        return cls.parse(named, f"check: {name}")
    except UsageError as error:
        raise UsageError(f"{error} Give options by --set KEY=VALUE.") from None


def _class(module: str, attribute: str) -> list[type[Settings]]:
    """The class in a module, where it is a part."""
    sys.path.insert(0, "")  # a console script does not look into the current folder
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return []  # the search for a learner says why
    kinds = tuple(kind for kind in KINDS if kind is not Path)
    return [found] if isinstance(found, type) and issubclass(found, Settings) and issubclass(found, kinds) else []
