"""Trying laws in a process apart, which a learner may end, or never leave, without taking the answer with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from bfc_bench.errors import BenchError, UsageError, suggest
from bfc_bench.executors.base import Fault
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.unit import clock_starts
from bfc_bench.learner import Learner
from bfc_bench.plugins import load_plugins
from bfc_bench.testing import Check, CheckReport, try_laws
from bfc_bench.testing.ambient import settings

SECONDS = 600.0
"""What all laws of one learner may take together."""


@dataclass(frozen=True)
class Unit:
    """One learner to try, by the position among those that a name stands for."""

    name: str
    position: int
    fatal: dict[str, str]
    """Laws that have ended a process before, and how."""
    journal: str
    """File with the name of the law that is being tried."""


def check_apart(name: str, seconds: float = SECONDS) -> Iterator[CheckReport]:
    """How every law comes out for each learner that a name stands for, see ``find``.

    A law in which the process ends, or that does not come to an end in ``seconds``, is broken. The others are tried
    again in another process.
    """
    for position in range(len(find(name))):
        yield _check(name, position, seconds)


def _check(name: str, position: int, seconds: float) -> CheckReport:
    fatal: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "law"
        while True:
            journal.unlink(missing_ok=True)
            outcome = _run(Unit(name, position, dict(fatal), str(journal)), seconds)
            if isinstance(outcome, bytes):
                learner, checks = json.loads(outcome)
                return CheckReport(learner, tuple(Check(**check) for check in checks))
            law = journal.read_text() if journal.exists() else ""
            if not law or law in fatal:
                raise BenchError(f"check: {name} could not be tried: {outcome.reason}\n{outcome.traceback}".strip())
            fatal[law] = outcome.reason


def _run(unit: Unit, seconds: float) -> bytes | Fault:
    pool = ProcessExecutor(1).open(_try)
    try:
        pool.submit(0, unit, seconds)
        [(_, outcome)] = pool.outcomes()
        return outcome
    finally:
        pool.close(now=True)


def _try(unit: Unit) -> bytes:
    """In the worker: a learner's name and its checks as JSON."""
    learner, journal = find(unit.name)[unit.position], Path(unit.journal)
    settings()  # torch and JAX are imported for it, which takes seconds
    clock_starts()
    report = try_laws(learner, watch=journal.write_text, fatal=unit.fatal)
    return json.dumps([report.learner, [asdict(check) for check in report.checks]]).encode()


def find(name: str) -> list[type[Learner]]:
    """A registered learner, the class in ``module:Class``, or every learner that a module defines.

    Raises ``UsageError`` where there is none.
    """
    plugins = load_plugins()
    module, _, attribute = name.partition(":")
    if name in plugins.learners or module in plugins.learners:
        return [plugins.learner(name)]
    sys.path.insert(0, "")  # a console script does not look into the current folder
    try:
        found = vars(import_module(module))
    except ImportError as error:
        known = suggest(name, plugins.learners)
        raise UsageError(
            f"check: {name!r} is neither a learner's name nor a module that imports ({error}).{known}"
        ) from None
    classes = {k: v for k, v in found.items() if isinstance(v, type) and issubclass(v, Learner) and v is not Learner}
    if attribute:
        if attribute not in classes:
            raise UsageError(f"check: module {module!r} has no learner {attribute!r}.{suggest(attribute, classes)}")
        return [classes[attribute]]
    own = [cls for cls in classes.values() if cls.__module__.partition(".")[0] == module.partition(".")[0]]
    if not own:
        raise UsageError(f"check: module {module!r} defines no learner; none was checked.")
    return own
