"""Chooses the executor of a run (the command's, else the suite's, else local processes) and opens its pool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from bfc_bench.errors import BenchError, PluginError, UsageError, describe_error
from bfc_bench.executors.base import Executor, Pool, Preload
from bfc_bench.plugins import Plugins
from bfc_bench.run.plan import Plan
from bfc_bench.run.work_units import forget_plugins
from bfc_bench.suite.model import Suite

DEFAULT = "processes"
PARTS = {"inputs": "inputs", "target": "targets", "law": "laws", "data": "data", "labels": "labels"}
"""Tables of a task's definition, with the hooks that register their kinds."""


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


def open_pool(
    plugins: Plugins,
    executor: Executor,
    call: Callable[[Any], Any],
    preload: Preload | None = None,
    jobs: int | None = None,
    uses: Collection[str] | None = None,
) -> Pool:
    """Open the executor's pool."""
    if executor.place == "session":
        forget_plugins()
    try:
        pool = (executor if uses is None else executor.using(uses)).open(call, preload, jobs)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{_named(plugins, executor)}: open raised {describe_error(error)}.") from error
    if lacking := [name for name in ("slots", "submit", "outcomes", "close") if not hasattr(pool, name)]:
        raise PluginError(
            f"{_named(plugins, executor)}: open must return a bfc_bench.Pool. Got {pool!r} without "
            f"{', '.join(lacking)}."
        )
    return pool


def used_distributions(plan: Plan, plugins: Plugins) -> frozenset[str]:
    """Distributions of the plugins that workers need for the cells of a plan."""
    learners = {("learners", plan.grid.entries[label].learner.name) for label in {cell.label for cell in plan.todo}}
    definitions = [plan.grid.tasks[name].definition() for name in {cell.task for cell in plan.todo}]
    parts = {(kind, table[key]["kind"]) for table in definitions for key, kind in PARTS.items() if key in table}
    return plugins.distributions(learners | parts)


def _named(plugins: Plugins, executor: Executor) -> str:
    return f"executor {executor.name!r} of plugin {plugins.executors.origin(executor.name)!r}"
