"""Conformance kit: tests whether a learner or a part of a suite meets the requirements of its contract.

    from bfc_bench.testing import check_learner

    def test_my_learner():
        check_learner(MyLearner)

The kit makes tiny data of its own, fits the learner with its ``smoke`` options ten times or more and tests one
requirement after the other. ``bfc-bench check NAME`` does the same from the command line, in a separate process: there
a learner that ends its process, or never returns, fails the requirement that was being tested.

``check_part`` tests an input law, a target, a labelling, a data set, a kind of claim, a metric or a suite
file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bfc_bench.errors import UsageError, describe_error, error_text, is_ctrl_c
from bfc_bench.learner import Learner
from bfc_bench.testing.requirement import Requirement, Skip, Subject
from bfc_bench.utils.counted import counted
from bfc_bench.utils.escape_control import visible

__all__ = ["Check", "CheckReport", "check_learner", "check_part"]

Outcome = Literal["passed", "skipped", "failed"]


@dataclass(frozen=True)
class Check:
    """Result of one requirement."""

    name: str
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:7} {self.name}{': ' if self.reason else ''}{self.reason}"


@dataclass(frozen=True)
class CheckReport:
    """Results of all requirements for one learner or part of a suite."""

    name: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> int:
        """Number of requirements that are met."""
        return self._count("passed")

    @property
    def failed(self) -> int:
        """Number of requirements that are violated."""
        return self._count("failed")

    @property
    def ok(self) -> bool:
        """Some requirement was tested and none is violated."""
        return self.passed > 0 and self.failed == 0

    @property
    def summary(self) -> str:
        """The counts in words."""
        skipped = self._count("skipped")
        return f"{counted(len(self.checks), 'check')}: {self.passed} passed, {skipped} skipped, {self.failed} failed"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), self.summary])

    def _count(self, outcome: Outcome) -> int:
        return sum(check.outcome == outcome for check in self.checks)


def check_learner(learner: type[Learner] | Learner, *, strict: bool = True) -> CheckReport:
    """Test every requirement of learners.

    Code of the learner that ends the process ends this process too; ``bfc-bench check`` survives that.

    Args:
        learner: A class, tested with its ``smoke`` options, or an instance, tested with its own. A class that is used
            through its variants only is represented by the one that its ``example`` names.
        strict: Raise an exception if a requirement is violated.

    Raises:
        AssertionError: Lists the violated requirements, unless ``strict`` is False.
        UsageError: ``learner`` is no learner.
    """
    if not issubclass(learner if isinstance(learner, type) else type(learner), Learner):
        raise UsageError(f"check_learner expects a bfc_bench.Learner, class or instance. Got {learner!r}.")
    return check_part(learner, strict=strict)


def check_part(part: object, *, strict: bool = True) -> CheckReport:
    """Test every requirement of a part that a plugin can provide.

    Args:
        part: An input law, a target, a joint law, a labelling, a data set or a kind of claim, as an instance or as a
            class that is made with its defaults; a ``Metric``; or the path of a suite file.
        strict: Raise an exception if a requirement is violated.

    Raises:
        AssertionError: Lists the violated requirements, unless ``strict`` is False.
        UsageError: ``part`` is nothing that can be tested, or a class with options that have no default.
    """
    from bfc_bench.testing.subjects import subject_of

    subject = subject_of(part)
    report = CheckReport(subject.name, tuple(checks_of(subject)))
    if strict and not report.ok:
        violated = "\n".join(f"  {check}" for check in report.checks if check.outcome == "failed")
        raise AssertionError(f"{report.name}: {report.summary}\n{violated or '  no requirement was tested'}")
    return report


def checks_of(subject: Subject) -> Iterator[Check]:
    """Test every requirement of a subject, one after the other."""
    outcome: Outcome
    met = set()
    for requirement in subject.requirements:
        unmet = [need.name for need in requirement.needs if need not in met]
        outcome, reason = ("skipped", f"needs '{unmet[0]}'") if unmet else _outcome(requirement, subject.trial)
        if outcome == "passed":
            met.add(requirement)
        yield Check(requirement.name, outcome, reason)


def _outcome(requirement: Requirement, trial: Any) -> tuple[Outcome, str]:
    try:
        requirement.test(trial)
    except Skip as reason:
        return "skipped", visible(str(reason))
    except AssertionError as error:
        return "failed", visible(error_text(error))
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        return "failed", visible(describe_error(error))
    return "passed", ""
