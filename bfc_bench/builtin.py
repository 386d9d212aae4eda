"""Registers the parts of the framework through the same hooks that other plugins use, and names its extras.

The built-in learners and suites are a separate plugin, the package ``bfc_plugins``. Parts are imported when they are
registered, so that the names of verbs are known without them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from bfc_bench.utils.hook_markers import hookimpl

VERBS = (
    *("run", "results", "claims", "compare", "report", "new", "check", "list", "show"),
    *("figure", "plan", "data", "doctor", "merge"),
)
"""Verbs of the core: each is a module of ``bfc_bench.cli``."""
KEYWORDS = {"list": "list_"}
"""Functions that cannot have the name of their verb."""
EXTRAS = ("mlflow", "bundle", "slurm", "ray", "site", "try_table")
"""Packages in ``bfc_bench.extras``: plugins that come with the framework and that it can do without."""


def extras() -> list[ModuleType]:
    """The extras."""
    return [import_module(f"bfc_bench.extras.{name}") for name in EXTRAS]


def own(kind: str) -> dict[str, Callable[..., Any] | str]:
    """The ``verbs`` or ``listeners`` of the core and of the extras, by name, without those of other distributions."""
    found: dict[str, Callable[..., Any] | str] = {}
    for module in (sys.modules[__name__], *extras()):
        if hasattr(module, f"bfc_register_{kind}"):
            getattr(module, f"bfc_register_{kind}")(found.__setitem__)
    return found


def _all_of(place: str) -> Callable[[Callable[[Any], None]], None]:
    """A hook that registers each part of a list, which is given as ``module:name``."""

    @hookimpl
    def hook(register: Callable[[Any], None]) -> None:
        for part in resolve_name(place):
            register(part)

    return hook


bfc_register_inputs = _all_of("bfc_bench.tasks.inputs:INPUTS")
bfc_register_targets = _all_of("bfc_bench.tasks.targets:TARGETS")
bfc_register_laws = _all_of("bfc_bench.tasks.laws:LAWS")
bfc_register_labels = _all_of("bfc_bench.tasks.labels:LABELS")
bfc_register_data = _all_of("bfc_bench.tasks.data:DATA_SETS")
bfc_register_executors = _all_of("bfc_bench.executors:EXECUTORS")
bfc_register_metrics = _all_of("bfc_bench.tasks.metrics:BUILT_IN")
bfc_register_claims = _all_of("bfc_bench.analysis.claims:KINDS")


@hookimpl
def bfc_register_verbs(register: Callable[[str, Callable[..., Any] | str], None]) -> None:
    """Register the verbs of the core."""
    for verb in VERBS:
        register(verb, f"bfc_bench.cli.{verb}:{KEYWORDS.get(verb, verb)}")
