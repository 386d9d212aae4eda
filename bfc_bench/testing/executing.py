"""Requirements of executors: the outcomes of units of every kind, and nothing left behind."""

from __future__ import annotations

import os
import signal
from typing import Any, get_args

from bfc_bench.executors.base import Place, Promise, Resources, UnitFailure
from bfc_bench.executors.memory import READABLE, family
from bfc_bench.testing.pool_trial import PoolTrial
from bfc_bench.testing.requirement import require, require_described, requirement, skip

AFTER = ("give", b"after")


@requirement()
def describes_itself(trial: PoolTrial) -> None:
    """Name, docstring, place and promises are valid."""
    cls = type(trial.executor)
    require_described(cls)
    require(cls.place in get_args(Place), f"place must be one of {get_args(Place)}. Got {cls.place!r}")
    promises = set(get_args(Promise))
    require(set(cls.promises) <= promises, f"promises must be some of {sorted(promises)}. Got {sorted(cls.promises)}")


@requirement(describes_itself)
def results_come_back_once_each(trial: PoolTrial) -> None:
    """Results of more units than there are workers, one of 3 MB, come back unchanged, in any order."""
    units = [("give", bytes([number]) * number) for number in range(3 * trial.jobs)] + [("give", os.urandom(3_000_000))]
    require(trial.run(*units) == [value for _, value in units], "results are not what the units gave")


@requirement(results_come_back_once_each)
def says_how_many_units_run_at_once(trial: PoolTrial) -> None:
    """``slots`` gives a number; runs divide their work by it."""
    slots = trial.pool.slots("cpu")
    require(type(slots) is int and slots >= 1, f"slots('cpu') must be a number of at least 1. Got {slots!r}")


@requirement(results_come_back_once_each)
def units_may_be_submitted_while_others_end(trial: PoolTrial) -> None:
    """A session does this to do a batch again cell by cell."""
    outcomes, pool = [], trial.pool
    pool.submit(0, ("give", b"0"), Resources(60.0))
    for key, outcome in pool.outcomes():
        outcomes.append((key, outcome))
        if key < 4:
            pool.submit(key + 1, ("give", str(key + 1).encode()), Resources(60.0))
    require(outcomes == [(key, str(key).encode()) for key in range(5)], f"a chain of five units gave {outcomes!r:.200}")


@requirement(results_come_back_once_each)
def what_a_unit_raises_is_its_fault(trial: PoolTrial) -> None:
    """Kind ``raised``, with the type and text of the exception, and the traceback."""
    raised = _as_failure(_between_others(trial, ("fail", "on purpose")), "a unit that raises", "raised")
    require("ValueError" in raised.reason and "on purpose" in raised.reason, f"the reason says {raised.reason!r:.200}")
    require("in fail" in raised.traceback, "the traceback does not show where the unit raised")


def _between_others(trial: PoolTrial, unit: tuple[str, Any]) -> Any:
    """The outcome of a unit; fails unless units submitted before and after it give their results."""
    before, outcome, after = trial.run(("give", b"before"), unit, AFTER)
    require((before, after) == (b"before", b"after"), "units beside it did not give their results")
    return outcome


def _as_failure(outcome: Any, what: str, kind: str = "") -> UnitFailure:
    """The outcome of a unit, which must be a failure, of a kind if one is given."""
    if not isinstance(outcome, UnitFailure):
        raise AssertionError(f"{what} must end in a UnitFailure. Got {outcome!r:.200}")
    right = kind in ("", outcome.kind)
    require(right, f"{what} must have kind {kind!r}. Got {outcome.kind!r}: {outcome.reason:.200}")
    return outcome


@requirement(results_come_back_once_each)
def units_of_different_groups_share_no_process(trial: PoolTrial) -> None:
    """What a unit of one group leaves in its process does not reach the units of another group."""
    trial.needs_promise("isolation")
    groups = ["a", "b"] * (2 * trial.jobs)
    marks = [mark.decode().split() for mark in trial.run(*[("mark", group) for group in groups], groups=groups)]
    mixed = [mark for mark in marks if len(set(mark)) > 1]
    require(not mixed, f"units of groups {sorted(set().union(*mixed))} have run in one process")


@requirement(results_come_back_once_each)
def a_unit_that_exceeds_its_time_is_stopped(trial: PoolTrial) -> None:
    """Kind ``timeout``; the next unit gives its result."""
    trial.needs_promise("time")
    stopped, after = trial.run(("sleep", (0, 10)), ("sleep", (0, 0)), seconds=1.0)
    _as_failure(stopped, "a unit of 10 s with a limit of 1 s", "timeout")
    require(after == b"done", f"the unit after it gave {after!r:.200}")


@requirement(a_unit_that_exceeds_its_time_is_stopped)
def time_counts_from_when_the_unit_says_so(trial: PoolTrial) -> None:
    """The time before ``worker_context.clock_starts`` is not counted."""
    (outcome,) = trial.run(("sleep", (4, 0)), seconds=2.0)
    require(outcome == b"done", f"a unit that prepares itself for 4 s, with a limit of 2 s, gave {outcome!r:.200}")


@requirement(results_come_back_once_each)
def a_unit_that_ends_its_process_fails_alone(trial: PoolTrial) -> None:
    """Kind ``killed``, with the exit code, which may be 0, or the signal; ``lost`` for SIGKILL, which may come from
    outside, so that the unit is tried again.
    """
    trial.needs_promise("death")
    for unit, kind, words in (
        (("leave", 7), "killed", "exit code 7"),
        (("leave", 0), "killed", "exit code 0"),
        (("die", signal.SIGSEGV), "killed", "SIGSEGV"),
        (("die", signal.SIGKILL), "lost", "SIGKILL"),
    ):
        died = _as_failure(_between_others(trial, unit), f"a unit that ends with {words}", kind)
        require(words in died.reason, f"the reason must name {words}. Got {died.reason!r:.200}")


@requirement(a_unit_that_ends_its_process_fails_alone)
def what_a_unit_started_ends_with_its_worker(trial: PoolTrial) -> None:
    """A child process of a unit ends when its worker ends."""
    trial.needs_other_processes()
    file = trial.folder / "orphan"
    _as_failure(trial.run(("orphan", str(file)))[0], "a unit that leaves a child")
    trial.require_ended(lambda: {int(file.read_text().split()[1])}, "after their worker has ended")


@requirement(results_come_back_once_each)
def a_unit_that_takes_too_much_memory_is_ended(trial: PoolTrial) -> None:
    """Kind ``memory``, or a ``MemoryError`` of the unit; the next unit gives its result."""
    trial.needs_promise("memory")
    if not READABLE:
        skip("this platform does not report the memory of processes")
    outcome, after = trial.run(("take", (100_000_000, 180_000_000)), AFTER)
    ended = _as_failure(outcome, "a unit that takes 180 MB of 100 MB allowed")
    require(ended.kind == "memory" or "MemoryError" in ended.reason, f"got {ended.kind!r}: {ended.reason!r:.200}")
    require(after == b"after", f"the unit after it gave {after!r:.200}")


@requirement(results_come_back_once_each)
def closing_now_stops_what_runs(trial: PoolTrial) -> None:
    """``close(now=True)`` ends units in the middle of ``outcomes``, as after Ctrl-C."""
    trial.needs_other_processes()
    trial.close()
    file = trial.folder / "lingers"
    pool = trial.open()
    pool.submit(0, ("linger", str(file)), Resources(600.0))
    pool.submit(1, ("wait_for", str(file)), Resources(600.0))
    ended = next(pool.outcomes())
    require(ended == (1, b"it is there"), f"a unit of minutes has ended: {ended!r:.200}")
    pool.close(now=True)
    trial.require_ended(lambda: {int(file.read_text().split()[1])}, "after close(now=True)")


@requirement(results_come_back_once_each)
def closing_leaves_no_process(trial: PoolTrial) -> None:
    """After ``close``, also of a pool without units and twice, no process is left."""
    trial.close()
    before = set(family(os.getpid()))
    pool = trial.open()
    answers = trial.run(*[("tell", None)] * (2 * trial.jobs), pool=pool)
    pool.close()
    local = trial.executor.place != "machines"
    workers = {int(text.split()[1]) for text in answers if local} - {os.getpid()}
    unused = trial.open()
    for _ in range(2):
        unused.close(now=True)
    trial.require_ended(lambda: workers | set(family(os.getpid())) - before, "after close()")
