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


def find(name: str, kind: str = "") -> list[Any]:
    """What a name stands for, of one kind or of any."""
    plugins = load_plugins()
    registries = plugins.of_kind(kind)
    if Path(name).is_file() and kind in ("", plugins.suites.kind):
        return [Path(name)]
    scheme, _, path = name.partition(":")
    matches = [
        registry.find(name)
        for registry in registries
        if name in registry or (path and registry is plugins.learners and scheme in registry)
    ]
    if matches:
        return matches
    near = suggest(name, {known for registry in registries for known in registry})
    if path and not kind:
        held = _in_module(scheme, path)
        return [plugins.learner(name) if isclass(held) and hasattr(held, "get_params") else held]
    hint = near if near.startswith(NEAR) else ""
    hint += broken_plugins(plugins.unavailable, name, kind)
    raise UsageError(f"check: there is no {kind or 'file and no part'} {name!r}, see `bfc-bench list`.{hint}")


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
