"""A learner that answers wrongly while a run is planned loses its own cells; the others run."""

import re

import numpy as np
import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.suite.model import TaskEntry

WRONG = [
    ("batch_key", "list", r"batch_key\(.*\) must be hashable or None. Got \[\[\]\]"),
    ("batch_key", "exit", r"batch_key\(.*\) raised SystemExit: 0"),
    ("cost", "text", r"cost\(20, 4\) must be None or a Cost of finite numbers >= 0. Got 'cheap'"),
    ("cost", "nan", r"cost\(20, 4\) must be None or a Cost of finite numbers >= 0"),
    ("skip", "exit", r"skip\(.*\) raised SystemExit: 0"),
    ("caution", "raise", r"caution\(.*\) raised KeyError"),
]


@pytest.mark.parametrize(("where", "what", "reason"), WRONG)
def test_its_cell_fails_with_a_plain_reason_and_all_others_run(
    where, what, reason, faulty, suite_file, tmp_path, printed
):
    learners = [{"name": "answering", "options": {"where": where, "what": what}}, {"name": "mean"}]
    path, store = suite_file(learner=learners), tmp_path / "store"
    assert re.search(f"to fail 1: learner 'answering': {reason}", " ".join(printed("plan", path).split()))
    session = run_suite(path, RunOptions(store=store, executor="serial"))
    rows = {(row.label, row.n): row for row in read_results(path, store=store)}
    assert {key for key, row in rows.items() if row.status == "ok"} == {("answering", 10), ("mean", 10), ("mean", 20)}
    assert rows["answering", 20].status == "failed"
    assert re.search(f"learner 'answering': {reason}", rows["answering", 20].reason)
    assert session.exit_code == 1
    again = run_suite(path, RunOptions(store=store, executor="serial"))
    assert (dict(again.statuses), again.exit_code) == ({}, 1)
    redone = run_suite(path, RunOptions(store=store, executor="serial", redo=["failed"]))
    assert dict(redone.statuses) == {"failed": 1}


def test_a_run_of_broken_cells_alone_starts_no_worker(faulty, rows_of):
    rows = rows_of(learner=[{"name": "answering", "options": {"where": "libraries", "what": "number"}}], jobs=1)
    said = "learner 'answering': libraries() must be a set of names. Got 5."
    assert [(row.status, row.reason) for row in rows] == [("failed", said)] * 2


def test_an_oracle_that_raises_costs_the_cells_on_data_only_its_own(faulty, tmp_path, rows_of):
    x = np.arange(600.0).reshape(300, 2)
    task = TaskEntry.from_arrays("t", x, x[:, 0], n=[10], folder=tmp_path).model_dump(exclude_none=True)
    learners = [{"name": "answering", "options": {"where": "oracle", "what": "raise"}}, {"name": "mean"}]
    rows = {row.label: row for row in rows_of(learner=learners, task=[task])}
    assert (rows["answering"].status, rows["mean"].status) == ("failed", "ok")
    assert "oracle() raised KeyError: 'flops'" in rows["answering"].reason


def test_a_cost_of_nothing_divides_nothing(faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "answering", "options": {"where": "cost", "what": "none at all"}}])
    for _ in range(2):
        session = run_suite(path, RunOptions(store=tmp_path / "store", executor="serial", redo=["all"]))
        assert dict(session.statuses) == {"ok": 2}
