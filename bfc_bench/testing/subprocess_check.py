"""Tests requirements in a separate process, so that a part which ends or blocks its process only fails one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from bfc_bench.errors import BenchError
from bfc_bench.executors.base import Resources, UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.worker_context import clock_starts
from bfc_bench.testing import Check, CheckReport, report_on
from bfc_bench.testing.finding import find
from bfc_bench.testing.global_state import global_state
from bfc_bench.testing.subjects import subject_of

SECONDS = 600.0
"""Time limit for all requirements of one part."""


@dataclass(frozen=True)
class CheckedUnit:
    """A part to test."""

    name: str
    kind: str
    options: dict[str, Any]
    position: int
    """Position among the parts that ``name`` stands for."""
    fatal: dict[str, str]
    """Reasons by the name of requirements in which an earlier process ended."""
    journal: str
    """File with the name of the current requirement."""


def check_in_subprocess(
    name: str, kind: str = "", options: Mapping[str, Any] = MappingProxyType({}), seconds: float = SECONDS
) -> Iterator[CheckReport]:
    """Test every requirement of each part that a name stands for, see ``find``.

    A requirement fails if the process ends in it or does not finish in time. The others are tested again in another
    process.
    """
    for position, (part, stated) in enumerate(find(name, kind)):
        subject_of(part, stated, options).end()  # raises here what the user has mistyped
        yield _check(name, kind, dict(options), position, seconds)


def _check(name: str, kind: str, options: dict[str, Any], position: int, seconds: float) -> CheckReport:
    fatal: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        journal = Path(folder) / "requirement"
        while True:
            journal.unlink(missing_ok=True)
            outcome = _run(CheckedUnit(name, kind, options, position, dict(fatal), str(journal)), seconds)
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
    part, stated = find(unit.name, unit.kind)[unit.position]
    global_state()  # imports torch and JAX, which takes seconds
    clock_starts()
    report = report_on(subject_of(part, stated, unit.options), Path(unit.journal).write_text, unit.fatal)
    return json.dumps([report.name, [asdict(check) for check in report.checks]]).encode()
