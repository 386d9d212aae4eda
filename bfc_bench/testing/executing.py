"""Laws of executors: what becomes of units, whatever they do, and what an executor leaves behind."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any, get_args

from bfc_bench.executors.base import Place, Promise, Resources
from bfc_bench.executors.memory import READABLE, family
from bfc_bench.testing.exceptions import require, skip
from bfc_bench.testing.executor_units import KILL, SEGFAULT, Prepared, Unsendable
from bfc_bench.testing.pool_trial import PoolTrial, collect, fault, interrupted_when
from bfc_bench.testing.requirement import law

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
BEFORE, AFTER = ("give", b"before"), ("give", b"after")
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@law()
def describes_itself(trial: PoolTrial) -> None:
    """Name, docstring, place and promises are there and known."""
    cls = type(trial.executor)
    name = getattr(cls, "name", None)
    require(
        isinstance(name, str) and NAME.fullmatch(name) is not None,
        f"name must be lower-case words joined by hyphens. Got {name!r}",
    )
    require(bool((vars(cls).get("__doc__") or "").strip()), "the class has no docstring of its own")
    require(cls.place in get_args(Place), f"place must be one of {get_args(Place)}. Got {cls.place!r}")
    known = set(get_args(Promise))
    require(set(cls.promises) <= known, f"promises must be some of {sorted(known)}. Got {sorted(cls.promises)}")


@law(describes_itself)
def results_come_back_once_each(trial: PoolTrial) -> None:
    """As they are, in any order, of more units than there are workers."""
    units = [("give", bytes([number]) * number) for number in range(3 * trial.jobs + 1)]
    require(trial.run(*units) == [value for _, value in units], "results are not what the units gave")


@law(results_come_back_once_each)
def says_how_many_units_run_at_once(trial: PoolTrial) -> None:
    """Runs cut their work by it."""
    trial.run(BEFORE)
    slots = trial.pool.slots("cpu")
    require(type(slots) is int and slots >= 1, f"slots('cpu') must be a number of at least 1. Got {slots!r}")


@law(results_come_back_once_each)
def large_payloads_and_results_come_whole(trial: PoolTrial) -> None:
    """3 MB there and back, twice."""
    large = os.urandom(3_000_000)
    require(trial.run(("give", large), ("give", large)) == [large, large], "3 MB did not come back as they were")


@law(results_come_back_once_each)
def units_may_be_submitted_while_others_end(trial: PoolTrial) -> None:
    """As a session does when a batch has to be done again cell by cell."""
    seen, pool = [], trial.pool
    pool.submit(0, ("give", b"0"), Resources(60.0))
    for key, outcome in pool.outcomes():
        seen.append((key, outcome))
        if key < 4:
            pool.submit(key + 1, ("give", str(key + 1).encode()), Resources(60.0))
    require(seen == [(key, str(key).encode()) for key in range(5)], f"a chain of five units gave {seen!r:.200}")


@law(results_come_back_once_each)
def what_a_unit_raises_is_its_fault(trial: PoolTrial) -> None:
    """Kind ``raised``, with the exception's type and text, and the traceback."""
    before, outcome, after = trial.run(BEFORE, ("fail", "on purpose"), AFTER)
    raised = fault(outcome, "a unit that raises")
    require((before, after) == (b"before", b"after"), "units beside one that raises did not give their results")
    require(raised.kind == "raised", f"the kind must be 'raised'. Got {raised.kind!r}")
    require("ValueError" in raised.reason and "on purpose" in raised.reason, f"the reason says {raised.reason!r:.200}")
    require("in fail" in raised.traceback, "the traceback does not show where the unit raised")


@law(results_come_back_once_each)
def a_payload_that_cannot_be_sent_is_its_units_fault(trial: PoolTrial) -> None:
    """It cannot be pickled; where nothing is sent it may come back."""
    _unsendable(trial, ("give", Unsendable()))


@law(results_come_back_once_each)
def a_result_that_cannot_be_sent_is_its_units_fault(trial: PoolTrial) -> None:
    """It cannot be pickled, nor is it bytes; where nothing is sent it may come back."""
    _unsendable(trial, ("unsendable", None))


def _unsendable(trial: PoolTrial, unit: tuple[str, Any]) -> None:
    before, outcome, after = trial.run(BEFORE, unit, AFTER)
    require((before, after) == (b"before", b"after"), "units beside it did not give their results")
    if trial.executor.place != "session" or not isinstance(outcome, Unsendable):
        kind = fault(outcome, "a unit that sends what cannot be sent").kind
        require(kind == "raised", f"the kind must be 'raised'. Got {kind!r}")


@law(results_come_back_once_each)
def every_worker_is_prepared_once(trial: PoolTrial) -> None:
    """Before its first unit, and not again."""
    trial.close()
    first = Prepared.times if trial.executor.place == "session" else 0
    told = [text.decode().split() for text in trial.run(*[("tell", None)] * 6)]
    times = {int(prepared) - first for *_, prepared in told}
    require(times == {1}, f"workers were prepared {sorted(times)} times when they ran units")


@law(results_come_back_once_each)
def a_unit_that_exceeds_its_time_is_stopped(trial: PoolTrial) -> None:
    """Kind ``timeout``; the next one is none the worse."""
    trial.promises("time")
    stopped, after = trial.run(("sleep", (0, 10)), ("sleep", (0, 0)), seconds=1.0)
    kind = fault(stopped, "a unit of 10 s with a limit of 1 s").kind
    require(kind == "timeout", f"the kind must be 'timeout'. Got {kind!r}")
    require(after == b"done", f"the unit after it gave {after!r:.200}")


@law(a_unit_that_exceeds_its_time_is_stopped)
def time_counts_from_when_the_unit_says_so(trial: PoolTrial) -> None:
    """What comes before ``worker_context.clock_starts`` is nobody's time."""
    (outcome,) = trial.run(("sleep", (4, 0)), seconds=2.0)
    require(outcome == b"done", f"a unit that prepares itself for 4 s, with a limit of 2 s, gave {outcome!r:.200}")


@law(results_come_back_once_each)
def a_unit_that_leaves_fails_alone(trial: PoolTrial) -> None:
    """Kind ``killed``, with the exit code, 0 too."""
    trial.promises("death")
    for code in (7, 0):
        before, outcome, after = trial.run(BEFORE, ("leave", code), AFTER)
        died = fault(outcome, f"a unit that leaves with exit code {code}")
        require((before, after) == (b"before", b"after"), "units beside it did not give their results")
        require(died.kind == "killed", f"the kind must be 'killed'. Got {died.kind!r}: {died.reason:.200}")
        require(f"exit code {code}" in died.reason, f"the reason must name exit code {code}. Got {died.reason!r:.200}")


@law(results_come_back_once_each)
def a_unit_that_crashes_fails_alone(trial: PoolTrial) -> None:
    """Kind ``killed``, with the signal's name."""
    trial.promises("death")
    outcome, after = trial.run(("die", SEGFAULT), AFTER)
    died = fault(outcome, "a unit that dies of SIGSEGV")
    require(died.kind == "killed" and "SIGSEGV" in died.reason, f"got {died.kind!r}: {died.reason!r:.200}")
    require(after == b"after", f"the unit after it gave {after!r:.200}")


@law(results_come_back_once_each)
def a_worker_ended_from_outside_is_lost(trial: PoolTrial) -> None:
    """Kind ``lost``: SIGKILL may not be the unit's doing, so that it is tried again."""
    trial.promises("death")
    outcome, after = trial.run(("die", KILL), AFTER)
    died = fault(outcome, "a unit whose process is killed")
    require(died.kind == "lost", f"the kind must be 'lost'. Got {died.kind!r}: {died.reason!r:.200}")
    require(after == b"after", f"the unit after it gave {after!r:.200}")


@law(a_unit_that_leaves_fails_alone)
def what_a_unit_started_ends_with_its_worker(trial: PoolTrial) -> None:
    """A child of a unit's own is nobody's once its worker has ended."""
    trial.elsewhere()
    file = trial.folder / "orphan"
    fault(trial.run(("orphan", str(file)))[0], "a unit that leaves a child")
    trial.gone(lambda: {int(file.read_text().split()[1])}, "of a worker that has ended")


@law(results_come_back_once_each)
def a_unit_that_takes_too_much_memory_is_ended(trial: PoolTrial) -> None:
    """Kind ``memory``, or the unit's own ``MemoryError``; the next one may take as much where it has no limit."""
    trial.promises("memory")
    if not READABLE:
        skip("this platform does not tell what processes hold")
    outcome, after = trial.run(("take", (100_000_000, 180_000_000)), AFTER)
    ended = fault(outcome, "a unit that takes 180 MB of 100 MB allowed")
    require(ended.kind == "memory" or "MemoryError" in ended.reason, f"got {ended.kind!r}: {ended.reason!r:.200}")
    require(after == b"after", f"the unit after it gave {after!r:.200}")


@law(results_come_back_once_each)
def closing_now_stops_what_runs(trial: PoolTrial) -> None:
    """In the middle of ``outcomes``, as Ctrl-C does."""
    trial.elsewhere()
    trial.close()
    file = trial.folder / "lingers"
    pool = trial.open()
    pool.submit(0, ("linger", str(file)), Resources(600.0))
    with interrupted_when(file.exists):
        ended = list(pool.outcomes())
        require(False, f"a unit of minutes has ended: {ended!r:.200}")
    pool.close(now=True)
    require(file.exists(), "the unit did not begin")
    trial.gone(lambda: {int(file.read_text().split()[1])}, "after close(now=True)")


@law(results_come_back_once_each)
def closing_leaves_nothing_behind(trial: PoolTrial) -> None:
    """No process, neither a worker nor what it was started with; environment, folder and signals as before."""
    trial.close()
    before, family_before = _session(), set(family(os.getpid()))
    pool = trial.open()
    told = collect(pool, (("tell", None),) * (2 * trial.jobs))
    pool.close()
    workers = {int(text.split()[1]) for text in told} - {os.getpid()}
    mine = trial.executor.place != "machines"
    trial.gone(lambda: (workers if mine else set()) | set(family(os.getpid())) - family_before, "after close()")
    require(_session() == before, "environment, working directory or signal handlers are not as before")


@law(closing_leaves_nothing_behind)
def a_pool_that_is_begun_works_and_may_be_closed_unused(trial: PoolTrial) -> None:
    """As of the first run into a store: units come later, or never, and who began it closes it once more."""
    trial.close()
    before, family_before = _session(), set(family(os.getpid()))
    pool = trial.begin()
    told = {int(text.split()[2]) for text in collect(pool, (("tell", None),) * (2 * trial.jobs))}
    pool.close()
    require(told == {1}, f"workers were prepared {sorted(told)} times when they ran units")
    unused = trial.begin()
    for closed in (pool, unused, unused):
        closed.close(now=True)
    trial.gone(lambda: set(family(os.getpid())) - family_before, "after close(now=True) of a pool without units")
    require(_session() == before, "environment, working directory or signal handlers are not as before")


def _session() -> tuple[object, ...]:
    return dict(os.environ), Path.cwd(), [signal.getsignal(number) for number in HANDLED]
