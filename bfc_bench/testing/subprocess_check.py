"""Trying laws in a process apart, which a learner may end, or never leave, without taking the answer with it."""

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

from bfc_bench.errors import BenchError, UsageError, suggest
from bfc_bench.executors.base import Executor, Resources, UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.worker_context import clock_starts
from bfc_bench.learner import Learner
from bfc_bench.plugins import load_plugins
from bfc_bench.testing import Check, CheckReport, require_libraries, try_executor, try_laws
from bfc_bench.testing.global_state import settings

SECONDS = 600.0
"""What all laws of one learner or executor may take together."""


@dataclass(frozen=True)
class CheckedUnit:
    """One learner or executor to try, by the position among those that a name stands for."""

    name: str
    options: dict[str, Any]
    """Of an executor."""
    position: int
    fatal: dict[str, str]
    """Laws that have ended a process before, and how."""
    journal: str
    """File with the name of the law that is being tried."""


def check_apart(
    name: str, options: Mapping[str, Any] = MappingProxyType({}), seconds: float = SECONDS
) -> Iterator[CheckReport]:
    """How every law comes out for each learner, or executor with ``options``, that a name stands for, see ``find``.

    A law in which the process ends, or that does not come to an end in ``seconds``, is broken. The others are tried
    again in another process.
    """
    for position, found in enumerate(find(name)):
        if issubclass(found, Executor):
            found.parse(options, f"executor {name!r}").ready()
        elif options:
            raise UsageError(f"check: --executor-option belongs to an executor; {name!r} is a learner.")
        else:
            require_libraries(found)
        yield _check(name, dict(options), position, seconds)


def _check(name: str, options: dict[str, Any], position: int, seconds: float) -> CheckReport:
    fatal: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "law"
        while True:
            journal.unlink(missing_ok=True)
            outcome = _run(CheckedUnit(name, options, position, dict(fatal), str(journal)), seconds)
            if isinstance(outcome, bytes):
                title, checks = json.loads(outcome)
                return CheckReport(title, tuple(Check(**check) for check in checks))
            law = journal.read_text() if journal.exists() else ""
            if not law or law in fatal:
                raise BenchError(f"check: {name} could not be tried: {outcome.reason}\n{outcome.traceback}".strip())
            fatal[law] = outcome.reason


def _run(unit: CheckedUnit, seconds: float) -> bytes | UnitFailure:
    pool = ProcessExecutor().open(_try, jobs=1)
    try:
        pool.submit(0, unit, Resources(seconds))
        [(_, outcome)] = pool.outcomes()
        return outcome
    finally:
        pool.close(now=True)


def _try(unit: CheckedUnit) -> bytes:
    """In the worker: the name of what is tried and its checks as JSON."""
    found, journal = find(unit.name)[unit.position], Path(unit.journal)
    if issubclass(found, Executor):
        clock_starts()
        executor = found.parse(unit.options, f"executor {unit.name!r}")
        report = try_executor(executor, watch=journal.write_text, fatal=unit.fatal)
    else:
        settings()  # torch and JAX are imported for it where they are installed, which takes seconds
        clock_starts()
        report = try_laws(found, watch=journal.write_text, fatal=unit.fatal)
    return json.dumps([report.name, [asdict(check) for check in report.checks]]).encode()


def find(name: str) -> list[type[Learner] | type[Executor]]:
    """What is registered, the class in ``module:Class``, or every learner and executor that a module defines.

    Raises ``UsageError`` where there is none.
    """
    plugins = load_plugins()
    module, _, attribute = name.partition(":")
    if name in plugins.learners or module in plugins.learners:
        return [plugins.learner(name)]
    if name in plugins.executors:
        return [plugins.executors.get(name)]
    sys.path.insert(0, "")  # a console script does not look into the current folder
    try:
        found = vars(import_module(module))
    except ImportError as error:
        known = suggest(name, [*plugins.learners, *plugins.executors])
        raise UsageError(
            f"check: {name!r} is neither a learner's or executor's name nor a module that imports ({error}).{known}"
        ) from None
    bases = (Learner, Executor)
    classes = {k: v for k, v in found.items() if isinstance(v, type) and issubclass(v, bases) and v not in bases}
    if attribute:
        if attribute not in classes:
            near = suggest(attribute, classes)
            raise UsageError(f"check: module {module!r} has no learner or executor {attribute!r}.{near}")
        return [classes[attribute]]
    own = [cls for cls in classes.values() if cls.__module__.partition(".")[0] == module.partition(".")[0]]
    if not own:
        raise UsageError(f"check: module {module!r} defines no learner and no executor; none was checked.")
    return own
