"""Tests requirements in a separate process, so that a learner which ends or blocks its process only fails one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from bfc_bench.errors import NEAR, BenchError, UsageError, describe_error, suggest
from bfc_bench.executors.base import Executor, Resources, UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.worker_context import clock_starts
from bfc_bench.learner import Learner
from bfc_bench.plugins import load_plugins
from bfc_bench.testing import Check, CheckReport, executor_subject, learner_subject, report_on, require_libraries
from bfc_bench.testing.global_state import settings

SECONDS = 600.0
"""Time limit for all requirements of one learner or executor."""


@dataclass(frozen=True)
class CheckedUnit:
    """A learner or executor to test."""

    name: str
    options: dict[str, Any]
    """Options of an executor."""
    position: int
    """Position among the classes that ``name`` stands for."""
    fatal: dict[str, str]
    """Reasons by the name of requirements in which an earlier process ended."""
    journal: str
    """File with the name of the current requirement."""


def check_in_subprocess(
    name: str, options: Mapping[str, Any] = MappingProxyType({}), seconds: float = SECONDS
) -> Iterator[CheckReport]:
    """Test every requirement of each learner or executor that a name stands for.

    A requirement fails if the process ends in it or does not finish in time. The others are tested again in another
    process.

    Args:
        name: See ``find``.
        options: Options of an executor.
        seconds: Time limit for all requirements of one learner or executor.
    """
    for position, cls in enumerate(find(name)):
        if issubclass(cls, Executor):
            cls.parse(options, f"executor {name!r}").ready()
        elif options:
            raise UsageError(f"check: --executor-option belongs to an executor; {name!r} is a learner.")
        else:
            require_libraries(cls)
        yield _check(name, dict(options), position, seconds)


def _check(name: str, options: dict[str, Any], position: int, seconds: float) -> CheckReport:
    fatal: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "requirement"
        while True:
            journal.unlink(missing_ok=True)
            outcome = _run(CheckedUnit(name, options, position, dict(fatal), str(journal)), seconds)
            if isinstance(outcome, bytes):
                title, checks = json.loads(outcome)
                return CheckReport(title, tuple(Check(**check) for check in checks))
            current = journal.read_text() if journal.exists() else ""
            if not current or current in fatal:
                raise BenchError(f"check: {name} could not be tested: {outcome.reason}\n{outcome.traceback}".strip())
            fatal[current] = outcome.reason


def _run(unit: CheckedUnit, seconds: float) -> bytes | UnitFailure:
    pool = ProcessExecutor().open(_test, jobs=1)
    try:
        pool.submit(0, unit, Resources(seconds))
        [(_, outcome)] = pool.outcomes()
        return outcome
    finally:
        pool.close(now=True)


def _test(unit: CheckedUnit) -> bytes:
    """Runs in the worker: the name of what is tested and its checks as JSON."""
    cls = find(unit.name)[unit.position]
    if issubclass(cls, Learner):
        settings()  # imports torch and JAX, which takes seconds
        clock_starts()
        subject = learner_subject(cls)
    else:
        clock_starts()
        subject = executor_subject(cls.parse(unit.options, f"executor {unit.name!r}"))
    report = report_on(subject, Path(unit.journal).write_text, unit.fatal)
    return json.dumps([report.name, [asdict(check) for check in report.checks]]).encode()


def find(name: str) -> list[type[Learner] | type[Executor]]:
    """The classes that a name stands for: a registered one, ``module:Class``, or all of a module.

    Raises ``UsageError`` if there is none.
    """
    plugins = load_plugins()
    module, _, attribute = name.partition(":")
    if name in plugins.learners or module in plugins.learners:
        return [plugins.learner(name)]
    if name in plugins.executors:
        return [plugins.executors.get(name)]
    sys.path.insert(0, "")  # console scripts do not search the current folder
    try:
        attributes = vars(import_module(module))
    except Exception as error:  # the module's own
        near = suggest(name, {known for registry in plugins.registries.values() for known in registry})
        raise UsageError(
            f"check: {name!r} is neither a name that `bfc-bench list` shows, nor a file, nor a module that imports "
            f"({describe_error(error)}).{near if near.startswith(NEAR) else ''}"
        ) from None
    bases = (Learner, Executor)
    classes = {k: v for k, v in attributes.items() if isinstance(v, type) and issubclass(v, bases) and v not in bases}
    if attribute:
        if attribute not in classes:
            near = suggest(attribute, classes)
            raise UsageError(
                f"check: {attribute!r} of the module {module!r} is no part that can be checked: a class of bfc_bench "
                f"such as Learner or Target, or a Metric.{near}"
            )
        return [classes[attribute]]
    own = [cls for cls in classes.values() if cls.__module__.partition(".")[0] == module.partition(".")[0]]
    if not own:
        raise UsageError(f"check: module {module!r} defines no learner and no executor; none was checked.")
    return own
