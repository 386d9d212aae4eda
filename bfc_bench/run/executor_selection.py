"""Chooses the executor of a run (the command's, else the suite's, else local processes) and opens its pool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from bfc_bench.errors import BenchError, PluginError, UsageError, describe_error
from bfc_bench.executors.base import Executor, Pool
from bfc_bench.plugins import Plugins
from bfc_bench.run.cell import run_batch
from bfc_bench.run.plan import Plan
from bfc_bench.run.work_units import Extra, forget_plugins, import_learner
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


def open_pool(plan: Plan, plugins: Plugins, executor: Executor, jobs: int | None, extra: Extra) -> Pool:
    """Open the executor's pool for the cells of a plan."""
    if executor.place == "session":
        forget_plugins()
    learners = sorted({plan.grid.entries[cell.label].learner.name for cell in plan.todo})
    preload = {name: partial(import_learner, name, extra) for name in learners}
    try:
        return executor.open(partial(run_batch, extra=extra), preload, jobs)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        named = f"executor {executor.name!r} of plugin {plugins.executors.origin(executor.name)!r}"
        raise PluginError(f"{named}: open raised {describe_error(error)}.") from error
