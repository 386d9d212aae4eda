"""A run that was cut short goes on where it was, with the numbers of an undisturbed run."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from small_tasks import NOISY
from stored_rows import numbers, read_results, stored_rows
from waiting import completed, wait_until

from bfc_bench import RunOptions, run_suite
from bfc_bench.errors import StoreError


@pytest.fixture
def start():
    """Starts ``bfc-bench`` in a process group of its own, and ends it after the test."""
    processes = []

    def run(*arguments):
        command = [sys.executable, "-m", "bfc_bench", *map(str, arguments)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        processes.append(subprocess.Popen(command, **quiet, start_new_session=True))
        return processes[-1]

    yield run
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def rows_so_far(store):
    with contextlib.suppress(StoreError):  # it has no tables yet
        return len(stored_rows(store))
    return 0


def processes_of(group):
    listed = completed(["ps", "-o", "pid=", "-g", str(group)])
    return listed.stdout.split()


@pytest.fixture
def slow_suite(faulty, suite_file):
    return suite_file(
        learner=[{"name": "slow"}, {"name": "linear-ridge", "label": "r"}], replicates=5, task=[{**NOISY, "d": [3]}]
    )


def test_kill_minus_nine_then_the_same_command(slow_suite, tmp_path, bench, start):
    store = tmp_path / "store"
    arguments = ("run", slow_suite, "--store", store, "--jobs", 2)
    process = start(*arguments)
    wait_until(lambda: rows_so_far(store) >= 3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = {row.cell: row for row in stored_rows(store)}
    assert 3 <= len(kept) < 20

    again = bench(*arguments)
    assert again.returncode == 0, again.stderr
    rows = stored_rows(store)
    assert len(rows) == len({row.cell for row in rows}) == 20
    by_cell = {row.cell: row for row in rows}
    assert all(by_cell[cell] == row for cell, row in kept.items())

    undisturbed = tmp_path / "undisturbed"
    run_suite(slow_suite, RunOptions(store=undisturbed, jobs=1, executor="serial"))
    assert numbers(rows) == numbers(read_results(slow_suite, store=undisturbed))


def test_all_processes_end_with_their_session_also_a_worker_that_lets_no_thread_run(
    faulty, suite_file, tmp_path, start
):
    file = tmp_path / "pid"
    learner = {"name": "deaf", "options": {"path": str(file)}}
    process = start("run", suite_file(learner=[learner]), "--store", tmp_path / "s", "--jobs", 1)
    wait_until(lambda: file.exists() and file.read_text().endswith(" "), 60)
    assert file.read_text().strip() in processes_of(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not processes_of(process.pid), 10)


def test_a_second_command_on_a_busy_store_stops_with_a_sentence(slow_suite, tmp_path, bench, start):
    store = tmp_path / "store"
    longer = ("--set", "learner.slow.options.seconds=120")
    process = start("run", slow_suite, "--store", store, *longer)
    wait_until(lambda: len(processes_of(process.pid)) >= 3)
    second = bench("run", slow_suite, "--store", store)
    assert second.returncode == 2
    assert f"in use by another bfc-bench (process {process.pid})" in second.stderr
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert bench("run", slow_suite, "--store", store).returncode == 0
    assert len(stored_rows(store)) == 20


def test_running_again_does_nothing_and_more_replicates_extend(faulty, suite_file, tmp_path):
    path, store = suite_file(learner=[{"name": "mean"}]), tmp_path / "store"
    run_suite(path, RunOptions(store=store, executor="serial"))
    before = read_results(path, store=store)
    assert run_suite(path, RunOptions(store=store, executor="serial")).statuses == {}
    assert read_results(path, store=store) == before
    extended = run_suite(
        path, RunOptions(store=store, executor="serial", changes=["replicates=3", "task.t.n=[10, 20, 40]"])
    )
    assert extended.statuses == {"ok": 7}
    assert [row for row in read_results(path, store=store) if row.replicate == 0 and row.n <= 20] == before


def test_results_show_the_options_of_the_last_run_and_keep_the_rest(faulty, suite_file, tmp_path):
    path, store = suite_file(learner=[{"name": "mean"}]), tmp_path / "store"
    run_suite(path, RunOptions(store=store, executor="serial"))
    run_suite(path, RunOptions(store=store, executor="serial", changes=["learner.mean.options.shift=1.0"]))
    assert {row.options["shift"] for row in read_results(path, store=store)} == {1.0}
    assert len(read_results(path, store=store, every=True)) == 4
    assert run_suite(path, RunOptions(store=store, executor="serial")).statuses == {}
    assert {row.options["shift"] for row in read_results(path, store=store)} == {0.0}
