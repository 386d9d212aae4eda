"""Every way in which a learner can fail ends in a row that says so, and touches no other cell."""

import subprocess
import sys
from timeit import timeit

import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.store.store import Store

FAULTS = {
    "raise": ("failed", "ZeroDivisionError: one over nothing"),
    "hang": ("timeout", "4 s"),
    "exit": ("killed", "exit code 7"),
    "leave": ("killed", "exit code 0"),
    "fork": ("killed", "exit code 0"),
    "close": ("timeout", "4 s"),
    "signal": ("killed", "SIGSEGV"),
    "diverge": ("diverged", "loss is NaN at step 12"),
    "memory": ("out-of-memory", "cannot allocate 1 TB"),
    "nan": ("diverged", "200 of 200 predictions are NaN or infinite"),
    "infinite": ("diverged", "200 of 200 predictions are NaN or infinite"),
    "shape": ("failed", "must have shape (200,), one per point. Got shape (3, 2)"),
    "nothing": ("failed", "must return a Predictor. Got NoneType"),
}


def test_every_fault_is_a_row_and_touches_no_other_cell(faulty, suite_file, tmp_path):
    """Each fault happens at n = 20 only, alone and in a batch, beside a learner that is fine."""
    learners = [
        {"name": name, "label": f"{name}-{how}", "options": {"how": how, "at": 20}}
        for name in ("faulty", "together")
        for how in FAULTS
    ]
    path = suite_file(learner=[{"name": "mean"}, *learners], budget={"cell_seconds": 4})
    session = run_suite(path, RunOptions(store=tmp_path / "store", jobs=2))
    rows = {(row.label, row.n): row for row in read_results(path, store=tmp_path / "store")}
    assert session.exit_code == 1
    for name in ("faulty", "together"):
        for how, (status, reason) in FAULTS.items():
            row = rows[f"{name}-{how}", 20]
            assert (row.status, reason in row.reason) == (status, True), (name, how, row.status, row.reason)
            assert row.nmse is None
            assert rows[f"{name}-{how}", 10].status == "ok", (name, how, rows[f"{name}-{how}", 10].reason)
    assert {rows["mean", n].status for n in (10, 20)} == {"ok"}
    cell = rows["faulty-raise", 20].cell
    with Store(tmp_path / "store") as store:
        assert "in throw" in store.traceback(cell)


def test_a_run_with_failures_exits_with_1_and_does_not_repeat_them_unless_asked(faulty, suite_file, tmp_path, cli):
    path = suite_file(learner=[{"name": "faulty", "options": {"how": "raise", "at": 20}}])
    first = run_suite(path, RunOptions(store=tmp_path / "store", executor="serial"))
    second = run_suite(path, RunOptions(store=tmp_path / "store", executor="serial"))
    third = run_suite(path, RunOptions(store=tmp_path / "store", executor="serial", redo=["failed"]))
    assert [dict(s.statuses) for s in (first, second, third)] == [{"ok": 1, "failed": 1}, {}, {"failed": 1}]
    assert [s.exit_code for s in (first, second, third)] == [1, 1, 1]
    command = ["run", path, "--store", tmp_path / "store", "--executor", "serial"]
    assert [cli(*command, *more).returncode for more in ([], ["--until-decided"])] == [1, 1]


def test_a_skipped_cell_runs_once_the_reason_is_gone(faulty, suite_file, tmp_path):
    sessions = []
    for memory in (15, 15, 25, 15):
        path = suite_file(learner=[{"name": "huge"}], budget={"memory_gb": memory})
        sessions.append(run_suite(path, RunOptions(store=tmp_path / "store", executor="serial")))
    found = [dict(session.statuses) for session in sessions]
    assert found == [{"ok": 1, "skipped": 1}, {}, {"ok": 1}, {}]
    rows = read_results(path, store=tmp_path / "store")
    assert [(row.n, row.status, row.reason) for row in rows] == [(10, "ok", ""), (20, "ok", "")]


def mortal(tmp_path, **options):
    return {"name": "mortal", "max_n": 20, "options": {"path": str(tmp_path), **options}}


@pytest.mark.parametrize(
    ("times", "signal", "status", "fits"), [(2, 9, "ok", 3), (3, 15, "killed", 3), (9, 11, "killed", 2)]
)
def test_after_a_batch_a_cell_is_tried_by_itself_and_once_more_if_it_was_ended_from_outside(
    times, signal, status, fits, faulty, tmp_path, rows_of
):
    rows = {row.n: row.status for row in rows_of(learner=[mortal(tmp_path, times=times, signal=signal)], jobs=1)}
    assert rows == {10: "ok", 20: status}
    assert len((tmp_path / "20").read_text()) == fits


def test_killed_cells_are_made_again_when_asked(faulty, suite_file, tmp_path):
    path = suite_file(learner=[mortal(tmp_path, times=3), {"name": "faulty", "options": {"how": "raise", "at": 20}}])
    run_suite(path, RunOptions(store=tmp_path / "store", jobs=2))
    again = run_suite(path, RunOptions(store=tmp_path / "store", jobs=1, redo=["killed"]))
    assert (dict(again.statuses), again.exit_code) == ({"ok": 1}, 1)


def test_what_a_library_takes_to_import_is_not_the_cells_time(faulty, suite_file, tmp_path):
    seconds = timeit(lambda: subprocess.run([sys.executable, "-c", "import torch"], check=True), number=1)
    path = suite_file(learner=[{"name": "on-tensors"}], budget={"cell_seconds": seconds / 2})
    session = run_suite(path, RunOptions(store=tmp_path / "store", jobs=1))
    assert dict(session.statuses) == {"ok": 2}


def test_what_a_learner_declares_is_imported_before_its_clock_starts(faulty, rows_of):
    assert [row.chosen["info"]["loaded"] for row in rows_of(learner=[{"name": "importing"}], jobs=1)] == [True, True]
