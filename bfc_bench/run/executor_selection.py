"""Which executor a run takes: what the command says, else what the suite says, else processes of this machine; and
its pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

from bfc_bench.errors import BenchError, PluginError, UsageError, describe_error
from bfc_bench.executors.base import Executor, Pool
from bfc_bench.plugins import Plugins
from bfc_bench.run.work_units import forget_plugins
from bfc_bench.suite.model import Suite

DEFAULT = "processes"


def executor_of(
    suite: Suite, plugins: Plugins, name: str | None = None, options: Mapping[str, Any] = MappingProxyType({})
) -> Executor:
    """The executor ``name``, or the suite's, with ``options`` before those of the suite, ready to be opened.

    The suite's options are those of its own executor: another one gets none of them. Raises ``UsageError`` for what is
    unknown, and where the executor cannot be used here.
    """
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
    plugins: Plugins, executor: Executor, call: Callable[[Any], Any], prepare: Callable[[], object], jobs: int | None
) -> Pool:
    """The executor's pool. Raises ``PluginError`` that names its plugin where it gives none."""
    if executor.place == "session":
        forget_plugins()
    pool = _asked(plugins, executor, "open", call, prepare, jobs)
    return _checked(plugins, executor, "open", pool)


def begin_pool(
    plugins: Plugins, executor: Executor, call: Callable[[Any], Any], prepare: Callable[[], object], jobs: int | None
) -> Pool | None:
    """The pool that the executor begins before there are units, if it does. Raises as ``open_pool``."""
    pool = _asked(plugins, executor, "begin", call, prepare, jobs)
    return None if pool is None else _checked(plugins, executor, "begin", pool)


def _asked(plugins: Plugins, executor: Executor, method: str, *arguments: Any) -> Any:
    try:
        return getattr(executor, method)(*arguments)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(f"{_named(plugins, executor)}: {method} raised {describe_error(error)}.") from error


def _checked(plugins: Plugins, executor: Executor, method: str, pool: Any) -> Pool:
    if lacking := [wanted for wanted in ("slots", "submit", "outcomes", "close") if not hasattr(pool, wanted)]:
        raise PluginError(
            f"{_named(plugins, executor)}: {method} must give a bfc_bench.Pool. Got {pool!r} without "
            f"{', '.join(lacking)}."
        )
    return cast(Pool, pool)


def _named(plugins: Plugins, executor: Executor) -> str:
    return f"executor {executor.name!r} of plugin {plugins.executors.origin(executor.name)!r}"
