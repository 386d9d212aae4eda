"""A learner that changes its process is found out, and those who come after it find it as it was."""

import timeit

import numpy as np
import pytest

from bfc_bench import read_results, run_suite
from bfc_bench.run.surroundings import Surroundings

TOUCHED = {
    "numpy": "numpy.var",
    "metric": "bfc_bench.tasks.metrics.Truth.nmse",
    "code": "bfc_bench.tasks.metrics.nmse",
    "recursion": "the recursion limit",
    "timer": "a timer that is running",
}


@pytest.mark.parametrize("at", [10, 20])
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_what_a_learner_changes_in_its_process_is_its_own_fault_only(executor, at, faulty, suite_file, tmp_path):
    honest = [{"name": "mean"}, {"name": "linear-ridge"}, {"name": "slow", "options": {"seconds": 0.01}}]
    meddlers = [{"name": "meddler", "label": what, "options": {"what": what, "at": at}} for what in TOUCHED]
    run_suite(suite_file(name="s", learner=honest), store=tmp_path / "a", executor="serial")
    expected = {(r.label, r.n): (r.status, r.nmse) for r in read_results(tmp_path / "s.toml", store=tmp_path / "a")}
    path = suite_file(name="s", learner=[*meddlers, *honest])
    assert run_suite(path, store=tmp_path / "b", executor=executor, jobs=1).exit_code == 1
    rows = {(row.label, row.n): row for row in read_results(path, store=tmp_path / "b")}
    assert {key: (rows[key].status, rows[key].nmse) for key in expected} == expected
    for what, named in TOUCHED.items():
        said = f"meddler has changed what it shares with others: {named}. Leave it as it is."
        assert (rows[what, at].status, rows[what, at].reason) == ("failed", said)
        assert (rows[what, 30 - at].status, rows[what, 30 - at].nmse) == expected["mean", 30 - at]


def test_cells_that_travel_together_are_looked_after_together(faulty, suite_file, tmp_path, monkeypatch):
    looks = []
    monkeypatch.setattr(Surroundings, "put_back", lambda surroundings: looks.append(surroundings) or [])
    learners = [{"name": "mean"}, {"name": "linear-ridge"}]  # two sizes each, in a batch
    assert run_suite(suite_file(learner=learners), store=tmp_path / "s", executor="serial").exit_code == 0
    assert len(looks) == len(learners)


def test_looking_takes_no_time_and_finds_nothing_where_there_is_nothing():
    surroundings = Surroundings()
    assert surroundings.put_back() == []
    assert min(timeit.repeat(surroundings.put_back, number=10, repeat=5)) / 10 < 1e-3


def test_a_name_that_comes_later_is_nobodys_fault(monkeypatch):
    surroundings = Surroundings()
    monkeypatch.setattr(np, "later", len, raising=False)
    assert surroundings.put_back() == []
