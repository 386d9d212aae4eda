"""Waiting of a learner is told from waiting for a core, and plans count it."""

import os
import subprocess
import sys
import time

import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.costs import WAITS
from bfc_bench.run.plan import plan_for
from bfc_bench.run.stopwatch import Stopwatch
from bfc_bench.store.store import Store
from bfc_bench.strategies.api import grid_of

needs_schedstat = pytest.mark.skipif(
    not os.path.exists("/proc/self/schedstat"), reason="this system does not say how long a process waits for a core"
)


@pytest.fixture
def crowded():
    """This process has one core, with three others that always compute."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        for other in others:
            other.kill()
            other.wait()


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@needs_schedstat
def test_time_without_a_core_is_no_waiting(crowded):
    stopwatch = Stopwatch()
    compute(0.3)
    seconds = stopwatch.seconds()
    assert seconds["fit_wall_seconds"] > (1 + WAITS) * seconds["fit_cpu_seconds"], "it had to share the core"
    assert seconds["fit_wait_seconds"] < WAITS * seconds["fit_cpu_seconds"]


@needs_schedstat
def test_sleeping_is_waiting_on_a_crowded_core_too(crowded):
    stopwatch = Stopwatch()
    compute(0.05)
    time.sleep(0.3)
    seconds = stopwatch.seconds()
    assert seconds["fit_wait_seconds"] >= 0.29
    assert seconds["fit_wait_seconds"] < seconds["fit_wall_seconds"]


def test_where_the_system_does_not_say_nothing_is_made_up(monkeypatch):
    monkeypatch.setattr("bfc_bench.run.stopwatch._queued", lambda: None)
    assert "fit_wait_seconds" not in Stopwatch().seconds()


NAPS = {"short": 0.1, "long": 0.4}


@needs_schedstat
def test_plans_count_what_learners_wait(faulty, suite_file, tmp_path):
    learners = [{"name": "slow", "label": label, "options": {"seconds": s}} for label, s in NAPS.items()]
    path = suite_file(learner=learners, replicates=1)
    run_suite(path, RunOptions(store=tmp_path / "store", executor="serial"))
    for row in read_results(path, store=tmp_path / "store"):
        assert row.fit_cpu_seconds < NAPS[row.label] <= row.fit_wait_seconds + 1e-3
    grid = grid_of(path, ["replicates=5"], load_plugins(), (), ())
    with Store(tmp_path / "store") as store:
        plan = plan_for(grid, store, "cpu")
    assert len(plan.todo) == 16
    for cell in plan.todo:
        assert plan.seconds[cell.id] >= NAPS[cell.label] - 1e-3
