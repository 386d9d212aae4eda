"""Finds what a name stands for."""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import Any

from bfc_bench.errors import NEAR, UsageError, describe_error, suggest
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.registry import broken_plugins
from bfc_bench.testing.subjects import WITHOUT_BASE


def find(name: str, kind: str = "") -> list[tuple[Any, str]]:
    """What a name stands for, each with its kind if that must be stated."""
    plugins = load_plugins()
    registries = plugins.of_kind(kind)
    if Path(name).is_file() and kind in ("", plugins.suites.kind):
        return [(Path(name), "")]
    scheme, _, path = name.partition(":")
    matches = [
        (registry.find(name), registry.kind if registry.kind in WITHOUT_BASE else "")
        for registry in registries
        if name in registry or (path and registry is plugins.learners and scheme in registry)
    ]
    if matches:
        return matches
    near = suggest(name, {known for registry in registries for known in registry})
    if (path or kind == "listener") and kind in ("", *WITHOUT_BASE):
        held = _in_module(scheme, path)
        is_estimator = isclass(held) and hasattr(held, "get_params")
        return [(plugins.learner(name) if is_estimator else held, kind)]
    hint = near if near.startswith(NEAR) else ""
    hint += broken_plugins(plugins.unavailable, name, kind)
    raise UsageError(f"check: there is no {kind or 'file and no part'} {name!r}, see `bfc-bench list`.{hint}")


def _in_module(module: str, attribute: str) -> Any:
    """An attribute of a module, or the module."""
    sys.path.insert(0, "")  # console scripts do not search the current folder
    try:
        held: Any = import_module(module)
    except Exception as error:  # the module's own
        raise UsageError(f"check: the module {module!r} cannot be imported: {describe_error(error)}.") from None
    if not attribute:
        return held
    if not hasattr(held, attribute):
        raise UsageError(f"check: the module {module!r} has no {attribute!r}.{suggest(attribute, vars(held))}")
    return getattr(held, attribute)
