"""Registers the parts of the framework by the same hook as other plugins, and names its extras.

The built-in learners and suites are a separate plugin, the package ``bfc_plugins``. Parts are imported when they are
registered, so that the names of verbs are known without them.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from bfc_bench.plugins.register import Register
from bfc_bench.utils.hook_markers import PROJECT, hookimpl

VERBS = (
    *("run", "results", "claims", "compare", "report", "new", "check", "list", "show"),
    *("figure", "plan", "data", "doctor", "merge"),
)
"""Verbs of the core: each is a module of ``bfc_bench.cli``."""
KEYWORDS = {"list": "list_"}
"""Functions that cannot have the name of their verb."""
PARTS = {
    "inputs": "bfc_bench.tasks.inputs:INPUTS",
    "target": "bfc_bench.tasks.targets:TARGETS",
    "law": "bfc_bench.tasks.laws:LAWS",
    "labels": "bfc_bench.tasks.labels:LABELS",
    "data": "bfc_bench.tasks.data:DATA_SETS",
    "executor": "bfc_bench.executors:EXECUTORS",
    "metric": "bfc_bench.tasks.metrics:BUILT_IN",
    "claim": "bfc_bench.analysis.claims:KINDS",
}
"""Lists of the built-in parts, by the method of ``Register``; imported when they are registered."""
EXTRAS = ("mlflow", "bundle", "slurm", "ray", "site", "try_table")
"""Packages in ``bfc_bench.extras``: plugins that come with the framework and that it can do without."""


def extras() -> list[ModuleType]:
    """The extras."""
    return [import_module(f"bfc_bench.extras.{name}") for name in EXTRAS]


def own(kind: str) -> dict[str, Callable[..., Any] | str]:
    """What the core and the extras register of the kind ``verb`` or ``listener``, by name."""
    parts: dict[str, Callable[..., Any] | str] = {}

    def add(plugin: str, part_kind: str, part: Any, name: str) -> None:
        if part_kind == kind:
            parts[name] = part

    for registers in (register_verbs, *(extra.bfc_register for extra in extras())):
        registers(Register(PROJECT, add))
    return parts


def register_verbs(register: Register) -> None:
    """Register the verbs of the core."""
    for verb in VERBS:
        register.verb(verb, f"bfc_bench.cli.{verb}:{KEYWORDS.get(verb, verb)}")


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the parts of the framework."""
    register_verbs(register)
    for method, place in PARTS.items():
        for part in resolve_name(place):
            getattr(register, method)(part)
