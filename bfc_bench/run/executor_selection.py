"""Chooses the executor of a run: the command's, else the suite's, else local processes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.executors.base import Executor
from bfc_bench.plugins.manager import Plugins
from bfc_bench.suite.model import Suite

DEFAULT = "processes"


def executor_of(
    suite: Suite, plugins: Plugins, name: str | None = None, options: Mapping[str, Any] = MappingProxyType({})
) -> Executor:
    """The executor of a run, ready to be opened."""
    if name == "slurm" and name not in plugins.executors:
        raise UsageError("SLURM is not an executor: `bfc-bench submit SUITE --shards K` runs a suite there.")
    entry = suite.executor
    if entry is not None and name in (None, entry.name):
        executor = plugins.executor(entry.name, {**entry.options, **options})
    else:
        executor = plugins.executor(name or DEFAULT, options)
    executor.ready()
    return executor
