"""The conformance kit passes the built-in executors and names the requirement that each faulty one violates."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import breaking_executors as breaking
import pytest

from bfc_bench.errors import UsageError
from bfc_bench.executors.base import Executor
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.serial import SerialExecutor
from bfc_bench.testing import CheckReport, check_executor, executing, pool_trial
from bfc_bench.testing.requirement import requirements_of


def failed(report: CheckReport) -> list[str]:
    return [check.name for check in report.checks if check.outcome == "failed"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes that still run after 3 s count as left behind; they end with the test."""
    monkeypatch.setattr(pool_trial, "EXIT_SECONDS", 3.0)
    yield
    breaking.end()


def test_processes_meet_every_requirement() -> None:
    report = check_executor(ProcessExecutor(gpus=["0"]))
    assert report.passed == len(report.checks) == len(requirements_of(executing))


def test_serial_meets_the_requirements_that_apply() -> None:
    report = check_executor(SerialExecutor)
    assert report.failed == 0
    assert report.passed == 6
    assert all(check.reason for check in report.checks if check.outcome == "skipped")


@pytest.mark.parametrize(
    ("requirement", "words", "cls"),
    [
        pytest.param(name, words, cls, id=name, marks=[pytest.mark.slow] * issubclass(cls, breaking.There))
        for name, words, cls in breaking.BREAKS
    ],
)
def test_exactly_the_violated_requirement_fails_and_says_why(requirement: str, words: str, cls: type[Executor]) -> None:
    report = check_executor(cls, strict=False)
    assert failed(report) == [requirement]
    (reason,) = [check.reason for check in report.checks if check.outcome == "failed"]
    assert words in reason


def test_every_requirement_can_be_violated() -> None:
    violated = {name for name, *_ in breaking.BREAKS}
    assert sorted(violated) == sorted(each.name for each in requirements_of(executing))


def test_strict_raises_with_the_violated_requirement() -> None:
    with pytest.raises(AssertionError, match=r"undocumented: .* 1 failed\n  failed  describes itself: .* no docstring"):
        check_executor(breaking.Undocumented)


def test_only_executors_can_be_checked() -> None:
    with pytest.raises(UsageError, match=r"check_executor expects a bfc_bench.Executor.* Got <class 'int'>"):
        check_executor(int)  # type: ignore[arg-type]


def test_the_command_checks_an_executor_in_a_separate_process(bench, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path}
    broken = bench("check", "breaking_executors:Slotless", env=environment, cwd=tmp_path)
    assert (broken.returncode, "failed  says how many units run at once: slots('cpu')" in broken.stdout) == (1, True)
    wrong = bench("check", "processes", "--set", "jobs_per_gpu='none'", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr) == (2, wrong.stderr)
    assert "check: processes: jobs_per_gpu must be a valid integer" in wrong.stderr
