"""What a command shows while it works: one line, with what runs, what failed and the time left."""

import io
import re
import time
from functools import partial
from types import SimpleNamespace

import pytest
from rich.console import Console
from synthetic import row
from waiting import wait_until

from bfc_bench import RunOptions, run_suite
from bfc_bench.cli import display
from bfc_bench.cli.display import Display, Progress
from bfc_bench.cli.failures import cause

SLOW = {"name": "slow", "options": {"seconds": 0.5}}
FAULTY = {"name": "faulty", "options": {"how": "raise"}}


@pytest.fixture
def out():
    return Console(file=io.StringIO(), width=200)


def terminal(width):
    return Console(file=io.StringIO(), width=width, force_terminal=True, no_color=True)


def session(seconds, running=(), jobs=2):
    """A session with a cell for each estimate in ``seconds``; ``running`` has when cells began, and their indices."""
    cells = [SimpleNamespace(id=str(i), label=f"l{i}", task="t", d=4, n=10 * (i + 1)) for i in range(len(seconds))]
    estimates = {cell.id: value for cell, value in zip(cells, seconds, strict=True)}
    plan = SimpleNamespace(todo=cells, to_skip=[], seconds=estimates, device_of=lambda cell: "cpu")
    batches = [(began, SimpleNamespace(cells=[cells[i] for i in of], device="cpu")) for began, of in running]
    return SimpleNamespace(plan=plan, provenance={"jobs": jobs}, running=lambda: batches)


def in_fits(monkeypatch, call):
    """Call a function in each fit of the learner ``SLOW`` in this process."""
    sleep, own = time.sleep, SLOW["options"]["seconds"]
    monkeypatch.setattr(time, "sleep", lambda seconds: call() if seconds == own else sleep(seconds))


def test_the_line_names_what_runs_in_this_process(faulty, suite_file, tmp_path, out, monkeypatch):
    path, shown, seen = suite_file(learner=[SLOW, FAULTY]), Display(out), []
    in_fits(monkeypatch, lambda: seen.append(shown._line()))
    run_suite(path, RunOptions(store=tmp_path / "s", executor="serial", listeners=[shown]))
    assert len(seen) == 2
    assert re.fullmatch(r"[02]/4 cells(, 2 failed)?(, \d\d:\d\d left)?; running 00:0\d slow on t d=4 n=10-20", seen[0])
    assert shown._line().startswith("4/4 cells, 2 failed")


def test_of_several_the_one_that_runs_longest_is_named(out):
    shown, now = Progress(out), time.monotonic()
    shown.bfc_run_started(session([1.0] * 9, [(now - 3700, [2, 1]), (now - 5, [3])]))
    assert shown._line().endswith("; 2 running, longest 1:01:40 l1-l2 on t d=4 n=20-30")


def test_the_time_left_is_the_plans_at_first_and_then_grows_as_cells_take_longer(out):
    shown = Progress(out)
    some = session([10.0] * 20, jobs=2)
    shown.bfc_run_started(some)
    left = partial(shown._seconds_left, some)
    start = shown._began
    assert left((), start) == pytest.approx(100)
    for _ in range(10):
        shown.bfc_result(row(cell="3", task="t", label="l", d=4, n=10, nmse=0.5, finished_at=1.0, device="cpu"))
    assert left((), start + 50) == pytest.approx(50)  # as planned
    assert left((), start + 500) > 5 * 50
    running = session([10.0] * 20, [(start + 50, [0, 1])]).running()
    assert left(running, start + 60) == pytest.approx(45, rel=0.15)  # one of two workers did 10 s of its 20


def test_ctrl_c_is_answered_before_workers_are_stopped(faulty, suite_file, tmp_path, out, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    path, shown = suite_file(learner=[SLOW]), Display(out)
    in_fits(monkeypatch, interrupted)
    done = run_suite(path, RunOptions(store=tmp_path / "s", executor="serial", listeners=[shown]))
    assert done.interrupted
    assert out.file.getvalue().splitlines()[-1] == "ending; 2 cells are running"
    assert not done.running()


def test_thirty_failures_of_one_cause_are_one_line_with_their_traceback(faulty, suite_file, tmp_path, bench):
    path = suite_file(learner=[FAULTY, {"name": "mean"}], replicates=15)
    done = bench("run", path, "--store", tmp_path / "s", "--executor", "serial")
    lines = [line for line in done.stdout.splitlines() if "one over nothing" in line]
    assert len(lines) == 2, done.stdout
    assert lines[0].startswith("failed: faulty · t · d=4 · n=")
    file = tmp_path / "s" / "reports" / "tiny@1" / "failures.txt"
    expected = f"30 cells failed: faulty on t: ZeroDivisionError: one over nothing (traceback: {file})"
    assert lines[1] == expected
    assert file.read_text().count("ZeroDivisionError: one over nothing") == 2  # in the line, and where it was raised
    assert ", in throw" in file.read_text()
    assert "cells, " not in done.stdout  # a line of progress


def test_a_cause_is_the_same_at_all_sizes_and_other_for_another_learner():
    fields = {"task": "t", "d": 4, "replicate": 0, "status": "failed", "finished_at": 1.0}
    at = [row(label="a", n=n, reason=f"shape ({n}, 0.{n}) at {n}e-3", **fields) for n in (10, 2000)]
    assert cause(at[0]) == cause(at[1])
    assert cause(at[0]) != cause(row(label="b", n=10, reason=at[0].reason, **fields))
    assert cause(at[0]) != cause(row(label="a", n=10, reason="other", **fields))


def test_a_pipe_gets_a_line_now_and_then_and_none_if_the_command_ends_sooner(out, monkeypatch):
    with Progress(out, lambda: "working"):
        pass
    assert out.file.getvalue() == ""
    monkeypatch.setattr(display, "QUIET_SECONDS", 0.01)
    with Progress(out, lambda: "working"):
        wait_until(lambda: out.file.getvalue().count("working, 00:0") >= 2)


@pytest.mark.parametrize("width", [40, 80])
def test_the_line_of_a_terminal_is_one_that_is_not_full(width):
    out, now = terminal(width), time.monotonic()
    shown = Progress(out)
    shown.bfc_run_started(session([1.0] * 999, [(now, range(999))]))
    out.print(shown._render())
    (line,) = out.file.getvalue().splitlines()
    assert len(line) <= width - len("^C")  # which the terminal writes behind the line
