"""Tests requirements in a separate process, so that a part which ends or blocks its process only fails one."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from bfc_bench.errors import BenchError
from bfc_bench.executors.base import UnitFailure
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.worker_context import clock_starts
from bfc_bench.testing import Check, CheckReport, checks_of
from bfc_bench.testing.global_state import global_state
from bfc_bench.testing.subjects import find, subject_of

SECONDS = 600.0
"""Time limit for all requirements of one part."""
CLEAR = "\r\x1b[2K"
"""Clears the line of a terminal in which the session shows what it does."""


def check_in_subprocess(
    name: str, options: Mapping[str, Any] = MappingProxyType({}), seconds: float = SECONDS
) -> Iterator[CheckReport]:
    """Test every requirement of each part that a name stands for, see ``find``, and print each check when it is made.

    A requirement fails if the process ends in it or does not finish in time. The ones after it are not tested.
    """
    for position, part in enumerate(find(name)):
        subject = subject_of(part, options)  # raises here what the user has mistyped
        print(subject.name, flush=True)
        with TemporaryDirectory() as folder:
            journal = Path(folder) / "checks"
            journal.touch()
            outcome = _run(partial(_test, name, dict(options), position, journal), seconds)
            checks = [Check(**json.loads(line)) for line in journal.read_text().splitlines()]
        if isinstance(outcome, UnitFailure):
            if outcome.kind == "failed":
                raise BenchError(f"check: {name} could not be tested: {outcome.reason}\n{outcome.traceback}".strip())
            unchecked = [requirement.name for requirement in subject.requirements[len(checks) :]]
            untested = [Check(requirement, "failed", outcome.reason) for requirement in unchecked[:1]]
            untested += [Check(requirement, "skipped", f"ended in '{unchecked[0]}'") for requirement in unchecked[1:]]
            print(*untested, sep="\n")
            checks += untested
        yield CheckReport(subject.name, tuple(checks))


def _run(test: partial[bytes], seconds: float) -> bytes | UnitFailure:
    pool = ProcessExecutor().open(test, jobs=1)
    try:
        pool.submit(0, None, seconds)
        [(_, outcome)] = pool.outcomes()
        return outcome
    finally:
        pool.close(now=True)


def _test(name: str, options: dict[str, Any], position: int, journal: Path, _: object) -> bytes:
    """Runs in the worker: writes each check to the journal, as a line of JSON, and prints it."""
    with journal.open("w") as file:
        part = find(name)[position]
        global_state()  # imports torch and JAX, which takes seconds
        clock_starts()
        for check in checks_of(subject_of(part, options)):
            print(json.dumps(asdict(check)), file=file, flush=True)
            print(f"{CLEAR * sys.stdout.isatty()}{check}", flush=True)
    return b""
