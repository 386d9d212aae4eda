"""The contract of executors. A class of tests that inherits from it has a fixture ``executor``."""

import os
import re
import signal
from contextlib import closing
from multiprocessing import resource_tracker
from typing import get_args

import pytest
import units_of_work as unit
from waiting import alive, wait_until

from bfc_bench.executors.base import Place, Promise, UnitFailure
from bfc_bench.executors.memory import family

AFTER = (unit.say, "after")


def failure(outcome, kind):
    assert isinstance(outcome, UnitFailure), outcome
    assert outcome.kind == kind, outcome
    return outcome


class ExecutorContract:
    """Outcomes of units of every kind, and nothing that is left behind."""

    @pytest.fixture
    def pool(self, executor):
        pool = executor.open(unit.call, jobs=2)
        yield pool
        pool.close(now=True)

    @pytest.fixture
    def needs(self, executor):
        """Skips what the executor does not promise."""

        def skip_without(promise):
            if promise not in executor.promises:
                pytest.skip(f"it does not promise {promise!r}")

        return skip_without

    @pytest.fixture
    def elsewhere(self, executor):
        """Skips if units run in the session's own process."""
        if executor.place == "session":
            pytest.skip("its units run in the session's own process")

    def test_describes_itself(self, executor):
        cls = type(executor)
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", cls.name)
        assert (vars(cls).get("__doc__") or "").strip()
        assert cls.place in get_args(Place)
        assert set(cls.promises) <= set(get_args(Promise))

    def test_results_come_back_unchanged_and_once_each(self, pool):
        values = [bytes([number]) * number for number in range(6)] + [os.urandom(3_000_000)]
        assert unit.outcomes(pool, *[(unit.give, value) for value in values]) == values
        assert pool.slots("cpu") >= 1

    def test_units_may_be_submitted_while_others_end(self, pool):
        ended = []
        pool.submit(0, (unit.say, ("0",)), 60.0)
        for key, outcome in pool.outcomes():
            ended.append((key, outcome))
            if key < 4:
                pool.submit(key + 1, (unit.say, (str(key + 1),)), 60.0)
        assert ended == [(key, str(key).encode()) for key in range(5)]

    def test_what_a_unit_raises_is_its_fault(self, pool):
        before, raised, after = unit.outcomes(pool, (unit.say, "before"), (unit.fail, "on purpose"), AFTER)
        assert (before, after) == (b"before", b"after")
        assert "ValueError" in failure(raised, "failed").reason
        assert "on purpose" in raised.reason
        assert "in fail" in raised.traceback

    def test_units_of_different_groups_share_no_process(self, pool, needs):
        needs("isolation")
        marks = unit.outcomes(pool, *[(unit.mark, group) for group in "abab"], groups="abab")
        assert all(len(set(left.split())) == 1 for left in marks)

    def test_a_unit_that_exceeds_its_time_is_stopped(self, pool, needs):
        needs("time")
        stopped, prepared = unit.outcomes(pool, (unit.late, 0.0, 30.0), (unit.late, 3.0, 0.0), seconds=1.5)
        failure(stopped, "timeout")
        assert prepared == b"done"  # the time before its clock starts is not counted

    def test_a_unit_that_ends_its_process_fails_alone(self, pool, needs):
        """``lost`` for SIGKILL, which may come from outside, so that the unit is tried again."""
        needs("death")
        deaths = [(unit.end, 7), (unit.end, 0), (unit.signalled, signal.SIGSEGV), (unit.signalled, signal.SIGKILL)]
        before, *died, after = unit.outcomes(pool, (unit.say, "before"), *deaths, AFTER)
        assert (before, after) == (b"before", b"after")
        expected = [("killed", "exit code 7"), ("killed", "exit code 0"), ("killed", "SIGSEGV"), ("lost", "SIGKILL")]
        for outcome, (kind, reason) in zip(died, expected, strict=True):
            assert reason in failure(outcome, kind).reason

    def test_what_a_unit_started_ends_with_its_worker(self, pool, needs, tmp_path):
        needs("death")
        failure(unit.outcomes(pool, (unit.leave_a_child, str(tmp_path / "child")))[0], "killed")
        child = (tmp_path / "child").read_text()
        wait_until(lambda: not alive(child))

    def test_a_unit_that_takes_too_much_memory_is_ended(self, pool, needs):
        needs("memory")
        kept, excess, after = unit.outcomes(pool, (unit.grow, 20_000_000), (unit.grow, 90_000_000), AFTER)
        assert (kept, after) == (b"grown", b"after")
        failure(excess, "out-of-memory")

    @pytest.mark.usefixtures("elsewhere")
    def test_closing_now_stops_what_runs(self, pool, tmp_path):
        """In the middle of ``outcomes``, as after Ctrl-C."""
        file = tmp_path / "lingers"
        pool.submit(0, (unit.linger, (str(file),)), 600.0)
        pool.submit(1, (unit.wait_for, (str(file),)), 600.0)
        assert next(pool.outcomes()) == (1, b"")
        pool.close(now=True)
        wait_until(lambda: not alive(file.read_text()))

    def test_closing_leaves_no_process(self, executor):
        """Also if the pool had no units, and twice."""
        resource_tracker.ensure_running()  # Python starts this process with the first other one and keeps it
        before = {*family(os.getpid()), os.getpid()}
        with closing(executor.open(unit.call, jobs=2)) as pool:
            workers = {int(worker) for worker in unit.outcomes(pool, *[(unit.pid,)] * 4)}
        unused = executor.open(unit.call, jobs=2)
        for _ in range(2):
            unused.close(now=True)
        wait_until(lambda: not [left for left in {*workers, *family(os.getpid())} - before if alive(str(left))])
