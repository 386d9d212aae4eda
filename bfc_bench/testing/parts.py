"""Finds parts of suites and other parts of plugins by name, and the requirements of each kind of part."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from bfc_bench.analysis.claims import Claim
from bfc_bench.config import Settings
from bfc_bench.errors import UsageError, suggest
from bfc_bench.executors.base import Executor
from bfc_bench.learner import Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.tasks.base import DataSet, Inputs, JointLaw, Labels, Target
from bfc_bench.tasks.metrics import Metric
from bfc_bench.testing import (
    claim_kinds,
    data_sets,
    inputs,
    joint_laws,
    labelling,
    listeners,
    metrics,
    own_verbs,
    plots,
    suites,
    targets,
)
from bfc_bench.testing.requirement import Subject, requirements_of

KINDS: dict[type, tuple[Callable[[Any], Any], ModuleType]] = {
    Inputs: (inputs.InputsTrial, inputs),
    Target: (targets.TargetTrial, targets),
    JointLaw: (joint_laws.JointTrial, joint_laws),
    Labels: (labelling.LabelsTrial, labelling),
    DataSet: (data_sets.DataTrial, data_sets),
    Claim: (claim_kinds.ClaimTrial, claim_kinds),
    Metric: (metrics.MetricTrial, metrics),
    Path: (suites.SuiteTrial, suites),
}
"""By base class, the class of the trial and the module of the requirements."""
WITHOUT_BASE: dict[str, tuple[Callable[[Any], Any], ModuleType]] = {
    "plot": (plots.PlotTrial, plots),
    "verb": (own_verbs.VerbTrial, own_verbs),
    "listener": (listeners.ListenerTrial, listeners),
}
"""The same by the word for the kind, for functions, and for modules and objects with hooks."""


@dataclass(frozen=True)
class Unbased:
    """A part whose kind cannot be told from its class."""

    kind: str
    """A key of ``WITHOUT_BASE``."""
    name: str
    value: Any


def part_subject(part: object, kind: str = "") -> Subject:
    """The subject of ``check_part``."""
    if isinstance(part, Unbased):
        trial, module = WITHOUT_BASE[part.kind]
        return Subject(part.name, trial(part.value), requirements_of(module))
    if kind:
        if kind not in WITHOUT_BASE:
            raise UsageError(f"check_part: kind must be {_words(WITHOUT_BASE)}. Got {kind!r}.")
        return part_subject(_unbased(kind, part))
    if isinstance(part, type) and issubclass(part, Settings):
        part = part.parse(_required(part), f"check: {part.__name__}")
    for base, (trial, module) in KINDS.items():
        if isinstance(part, base):
            name = part.stem if isinstance(part, Path) else _name(part)
            return Subject(name, trial(part), requirements_of(module))
    raise UsageError(
        "check_part expects an Inputs, Target, JointLaw, Labels, DataSet or Claim, class or instance, a Metric, the "
        f"path of a suite, or something with kind= {_words(WITHOUT_BASE)}. Got {part!r}."
    )


def find_parts(name: str, options: dict[str, Any], kind: str = "") -> list[Settings | Metric | Path | Unbased]:
    """The parts that a name stands for, made with ``options``; none if it names a learner, an executor or nothing.

    Args:
        name: A file, a registered name, ``module:attribute``, or the module of a listener.
        options: Options of the part.
        kind: The only kind to look for, as ``bfc-bench list`` calls it, or ``listener``; empty for all.

    Raises:
        UsageError: Options are unknown, missing or out of range, there is no such kind, or nothing of that kind.
    """
    plugins = load_plugins()
    known = [*(registry.kind for registry in plugins.registries.values()), "listener"]
    if kind and kind not in known:
        raise UsageError(f"--kind {kind}: there is no such kind.{suggest(kind, known)}")
    if Path(name).is_file() and kind in ("", plugins.suites.kind):
        return [Path(name)]
    module, _, attribute = name.partition(":")
    learner = name in plugins.learners or module in plugins.learners
    if kind in (plugins.learners.kind, plugins.executors.kind) or (learner and not kind):
        return []
    found = _registered(plugins, name, kind)
    if not found and attribute and module in plugins.data and kind in ("", plugins.data.kind):
        found = [plugins.data.get(module).variant(attribute)]
    if not found and (attribute or kind == "listener"):
        found = _of_module(module, attribute, kind)
    if kind and not found:
        raise UsageError(f"check: there is no {kind} {name!r}.{suggest(name, _names(plugins, kind))}")
    return [_instance(part, options, name) for part in found]


def _registered(plugins: Plugins, name: str, kind: str) -> list[Any]:
    """The parts that plugins register under a name."""
    others = (plugins.learners, plugins.executors)
    registries = [each for each in plugins.registries.values() if each not in others and kind in ("", each.kind)]
    return [
        Unbased(registry.kind, name, registry.get(name)) if registry.kind in WITHOUT_BASE else registry.get(name)
        for registry in registries
        if name in registry
    ]


def _names(plugins: Plugins, kind: str) -> list[str]:
    return [name for registry in plugins.registries.values() if registry.kind == kind for name in registry]


def _instance(part: Any, options: dict[str, Any], name: str) -> Any:
    """A part made with its options; what is made already has none."""
    if not isinstance(part, type):
        if options:
            raise UsageError(f"check: {name!r} has no options, so that --set does not apply.")
        return part
    cls: type[Settings] = part
    try:
        return cls.parse({**_required(cls), **options}, f"check: {name}")
    except UsageError as error:
        raise UsageError(f"{error} Give options by --set KEY=VALUE.") from None


def _required(cls: type[Settings]) -> dict[str, Any]:
    """Options of every claim that say nothing about its kind."""
    return {"id": "check"} if issubclass(cls, Claim) else {}


def _of_module(module: str, attribute: str, kind: str) -> list[Any]:
    """The part in a module. Raises ``UsageError`` for a function without a kind."""
    sys.path.insert(0, "")  # console scripts do not search the current folder
    try:
        held = import_module(module)
    except Exception:  # the module's own
        return []  # the search for a learner reports the error
    part = getattr(held, attribute, None) if attribute else held
    if part is None:
        return []
    if kind in WITHOUT_BASE:
        return [_unbased(kind, part)]
    if isinstance(part, type) and issubclass(part, (Learner, Executor)):
        return []
    kinds = tuple(base for base in KINDS if base is not Path)
    if isinstance(part, Metric) or (isinstance(part, type) and issubclass(part, kinds)):
        return [part]
    if isinstance(part, type):
        known = ", ".join(sorted(base.__name__ for base in (Learner, Executor, *kinds) if base is not Metric))
        raise UsageError(
            f"check: {module}:{attribute} must be a subclass of one of {known}; add --kind listener if it listens to "
            "runs."
        )
    if callable(part):
        raise UsageError(
            f"check: {module}:{attribute} is a function: add --kind plot or --kind verb. A function that measures an "
            "error is checked as the Metric that has it."
        )
    return []


def _unbased(kind: str, part: Any) -> Unbased:
    """A part of a kind without a base class. Raises ``UsageError`` if it cannot be of that kind."""
    name = str(getattr(part, "__name__", type(part).__name__))
    if kind == "listener":
        return Unbased(kind, name, part() if isinstance(part, type) else part)
    if not callable(part):
        raise UsageError(f"check: a {kind} must be a function. Got {part!r}.")
    return Unbased(kind, name, part)


def _name(part: object) -> str:
    """The kind by which suites name it, or the name of a metric."""
    return str(part.name if isinstance(part, Metric) else getattr(part, "kind", type(part).__name__))


def _words(names: Any) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}"
