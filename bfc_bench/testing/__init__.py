"""The conformance kit: one line in a test tells whether a learner, an executor or a part of a suite keeps its contract.

    from bfc_bench.testing import check_executor, check_learner

    def test_my_learner():
        check_learner(MyLearner)

The kit makes tiny data of its own, fits the learner with its ``smoke`` options some twenty times and tries one law
after the other. ``bfc-bench check NAME`` does the same from the command line, in a process of its own: there a learner
that ends its process, or never returns, breaks a law like any other.

``check_part`` does so for an input law, a target, a labelling, a data set, a kind of claim and a suite file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from bfc_bench.errors import UsageError, is_ctrl_c, message, words
from bfc_bench.executors.base import Executor
from bfc_bench.learner import ArrayKind, Capabilities, Learner
from bfc_bench.toolkit.canary import unusable
from bfc_bench.utils.escape_control import visible

if TYPE_CHECKING:
    from bfc_bench.config import Settings
    from bfc_bench.testing.requirement import Requirement

__all__ = ["Check", "CheckReport", "check_executor", "check_learner", "check_part"]

Outcome = Literal["passed", "skipped", "failed"]
TOLERANCE = 1e-3
"""Relative difference of the predictions of a batch and of single fits that is allowed."""


@dataclass(frozen=True)
class Check:
    """How one law came out."""

    name: str
    outcome: Outcome
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.outcome:7} {self.name}{': ' if self.reason else ''}{self.reason}"


@dataclass(frozen=True)
class CheckReport:
    """How every law came out for one learner, executor or part of a suite."""

    name: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> int:
        """Number of laws that hold."""
        return self._count("passed")

    @property
    def skipped(self) -> int:
        """Number of laws that do not apply."""
        return self._count("skipped")

    @property
    def failed(self) -> int:
        """Number of laws that are broken."""
        return self._count("failed")

    @property
    def ran(self) -> int:
        """Number of laws that were tried."""
        return self.passed + self.failed

    @property
    def ok(self) -> bool:
        """Some law was tried and none is broken."""
        return self.ran > 0 and self.failed == 0

    @property
    def summary(self) -> str:
        """The counts in words."""
        return f"{len(self.checks)} checks: {self.passed} passed, {self.skipped} skipped, {self.failed} failed"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.checks), self.summary])

    def _count(self, outcome: Outcome) -> int:
        return sum(check.outcome == outcome for check in self.checks)


def check_learner(
    learner: type[Learner] | Learner, *, strict: bool = True, tolerance: float = TOLERANCE
) -> CheckReport:
    """Try every law on a learner class with its ``smoke`` options, or on an instance with its own options.

    A class that is used through its variants only is represented by the one that its ``example`` names.
    ``tolerance`` is how far predictions may differ between a batch and single fits, relative to their root mean square.

    Raises ``AssertionError`` that lists the broken laws unless ``strict`` is False, and ``UsageError`` when ``learner``
    is no learner, or a library that it needs is not installed. What ends the process ends it here too;
    ``bfc_bench.testing.subprocess_check`` survives that.
    """
    return _strictly(try_laws(learner, tolerance), strict)


def check_executor(executor: type[Executor] | Executor, *, strict: bool = True) -> CheckReport:
    """Try every law on an executor class with its default options, or on an instance with its own.

    Takes a minute: units hang, crash, take too much memory. What an executor does not promise is not asked of it.
    To be called in the main thread, which alone can be interrupted as Ctrl-C does.

    Raises ``AssertionError`` that lists the broken laws unless ``strict`` is False, and ``UsageError`` when
    ``executor`` is none, or cannot be used here.
    """
    return _strictly(try_executor(executor), strict)


def check_part(part: type[Settings] | Settings | Path, *, strict: bool = True) -> CheckReport:
    """Try every law on an input law, a target, a labelling, a data set or a kind of claim: an instance, or a class with
    its defaults; or on a suite file, by its path.

    Raises ``AssertionError`` that lists the broken laws unless ``strict`` is False, and ``UsageError`` when ``part`` is
    nothing that has laws, or a class with options that have no default.
    """
    from bfc_bench.testing.parts import trial_of

    name, trial, laws = trial_of(part)
    return _strictly(CheckReport(name, tuple(_checks(laws, trial))), strict)


def _strictly(report: CheckReport, strict: bool) -> CheckReport:
    if strict and not report.ok:
        broken = "\n".join(f"  {check}" for check in report.checks if check.outcome == "failed")
        raise AssertionError(f"{report.name}: {report.summary}\n{broken or '  nothing was tried'}")
    return report


def try_laws(
    learner: type[Learner] | Learner,
    tolerance: float = TOLERANCE,
    watch: Callable[[str], object] = lambda law: None,
    fatal: Mapping[str, str] = MappingProxyType({}),
) -> CheckReport:
    """How every law comes out, each one's name told to ``watch`` before it is tried.

    Laws in ``fatal`` are not tried: they are broken for the reason given there. Raises ``UsageError`` when ``learner``
    is no learner, or a library that it needs is not installed.
    """
    cls = learner if isinstance(learner, type) else type(learner)
    if not issubclass(cls, Learner):
        raise UsageError(f"check_learner expects a bfc_bench.Learner, class or instance. Got {learner!r}.")
    if isinstance(learner, type) and cls.example is not None:
        cls = cls.variant(cls.example)
    options = learner.options() if isinstance(learner, Learner) else cls.smoke
    require_libraries(cls)
    name = str(getattr(cls, "name", cls.__name__))
    from bfc_bench.testing import batching, description, fitting
    from bfc_bench.testing.learner_trial import Trial
    from bfc_bench.testing.requirement import laws_of

    laws = [*laws_of(description), *laws_of(fitting), *laws_of(batching)]
    return CheckReport(name, tuple(_checks(laws, Trial(cls, options, tolerance), watch, fatal)))


def require_libraries(learner: type[Learner]) -> None:
    """Raises ``UsageError`` with what to install where a learner cannot be tried here, whatever its options are."""
    can = learner.capabilities
    if not (isinstance(can, Capabilities) and isinstance(can.arrays, tuple) and can.arrays):
        return  # a law says what is wrong with them
    known = set(can.arrays) <= {*get_args(ArrayKind)}
    if known and (reason := unusable(can.required, "cpu" if "cpu" in can.devices else "cuda")):
        name = getattr(learner, "name", learner.__name__)
        raise UsageError(f"check: learner {name!r} cannot be tried here: {reason}")


def try_executor(
    executor: type[Executor] | Executor,
    watch: Callable[[str], object] = lambda law: None,
    fatal: Mapping[str, str] = MappingProxyType({}),
) -> CheckReport:
    """How every law of executors comes out, as ``try_laws`` has it for learners."""
    cls = executor if isinstance(executor, type) else type(executor)
    if not issubclass(cls, Executor):
        raise UsageError(f"check_executor expects a bfc_bench.Executor, class or instance. Got {executor!r}.")
    from bfc_bench.testing import executing
    from bfc_bench.testing.pool_trial import PoolTrial
    from bfc_bench.testing.requirement import laws_of

    name = str(getattr(cls, "name", cls.__name__))
    made = cls.parse({}, f"executor {name!r}") if isinstance(executor, type) else executor
    made.ready()
    with TemporaryDirectory() as folder:
        trial = PoolTrial(made, Path(folder))
        try:
            return CheckReport(name, tuple(_checks(laws_of(executing), trial, watch, fatal)))
        finally:
            trial.close(now=True)


def _checks(
    laws: Sequence[Requirement],
    trial: Any,
    watch: Callable[[str], object] = lambda law: None,
    fatal: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Check]:
    from bfc_bench.testing.exceptions import Skip

    held: set[Requirement] = set()
    for law in laws:
        unmet = [need.name for need in law.needs if need not in held]
        if unmet:
            yield Check(law.name, "skipped", f"needs '{unmet[0]}'")
            continue
        if law.name in fatal:
            yield Check(law.name, "failed", fatal[law.name])
            continue
        watch(law.name)
        try:
            law.holds(trial)
        except Skip as reason:
            yield Check(law.name, "skipped", visible(str(reason)))
        except AssertionError as broken:
            yield Check(law.name, "failed", visible(message(broken)))
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            yield Check(law.name, "failed", visible(words(error)))
        else:
            held.add(law)
            yield Check(law.name, "passed")
