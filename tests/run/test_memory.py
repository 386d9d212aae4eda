"""No cell takes more memory than its budget, whatever takes it; the guilty one is marked, and nobody else."""

import sys

import pytest
from small_tasks import SMALL
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.learner import TaskFacts
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.skip_reasons import data_bytes, skip_reasons

TAKERS = {
    "numpy": "MemoryError",
    "lists": "",
    "thread": "MemoryError",
    "torch": "",
    "jax": "",
    "compiled": "",
    "shared": "of memory; 0.2 GB are allowed",
    "child": "of memory; 0.2 GB are allowed",
}
LIBRARIES = {"torch": "greedy-torch", "jax": "greedy-jax", "compiled": "greedy-jax"}
HARMLESS = ("file", "untouched", "fork")
BUDGET = {"cell_seconds": 30, "memory_gb": 0.2}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")


def greedy(*hows, **options):
    return [{"name": LIBRARIES.get(how, "greedy"), "label": how, "options": {"how": how, **options}} for how in hows]


def test_who_takes_too_much_is_out_of_memory_and_nobody_else(faulty, rows_of):
    made = rows_of(learner=[{"name": "mean"}, *greedy(*TAKERS, *HARMLESS)], budget=BUDGET, jobs=2)
    rows = {(row.label, row.n): row for row in made}
    for how, reason in TAKERS.items():
        row = rows.pop((how, 20))
        assert (row.status, reason in row.reason) == ("out-of-memory", True), (how, row.status, row.reason)
    assert {where: row.reason for where, row in rows.items() if row.status != "ok"} == {}


def test_a_leak_costs_its_worker_and_no_cell(faulty, suite_file, tmp_path):
    """Each fit leaks 20 MB of 200 that a cell may take; many times that are leaked in all."""
    path = suite_file(learner=greedy("leak", at=0), budget=BUDGET, replicates=15)
    session = run_suite(path, RunOptions(store=tmp_path / "store", jobs=1))
    assert dict(session.statuses) == {"ok": 30}
    rows = read_results(path, store=tmp_path / "store")
    assert len(rows) == 30
    assert 3 <= len({row.chosen["info"]["process"] for row in rows}) <= 10


def facts(**values):
    given = {"name": "t", "inputs": "i", "target": "g", "labels": "clean", "kind": "real", "d": 100, "unlabeled": 0}
    return TaskFacts(**{**given, **values})


def test_a_cell_whose_data_do_not_fit_is_skipped():
    """10^6 points in d = 100 take 0.8 GB, and the copy that is lent as much again."""
    learner = load_plugins().learner("random-features").parse({}, "test")
    assert data_bytes(facts(), 10**6, 0) == 2 * 8 * 10**6 * 101
    assert data_bytes(facts(unlabeled=10**6), 0, 0) == 2 * 8 * 10**8
    assert data_bytes(facts(), 10**6, 0, tuned=True) == 2 * data_bytes(facts(), 10**6, 0)
    for n, test_size in ((10**6, 0), (100, 10**6)):
        reason, *_ = skip_reasons(learner, facts(), n, "cpu", {"cpu": 10**9}, test_size, tuned=False)
        assert "its data take 1.6" in reason
        assert "the budget is 1 GB" in reason


def test_a_cell_may_take_all_of_the_budget():
    learner = load_plugins().learner("random-features").parse({}, "test")
    limit = max(data_bytes(facts(), 1000, 50), learner.cost(1000, 100).bytes)
    for budget, is_skipped in ((limit, False), (limit - 1, True)):
        reasons = skip_reasons(learner, facts(), 1000, "cpu", {"cpu": budget}, 50, tuned=False)
        assert bool(list(reasons)) == is_skipped


def test_data_that_do_not_fit_while_they_are_drawn_are_out_of_memory(faulty, rows_of):
    drawn = {**SMALL, "name": "u", "inputs": {"kind": "greedy"}}
    rows = rows_of(learner=[{"name": "mean"}], task=[drawn, SMALL], budget=BUDGET, jobs=1)
    statuses = [(row.task, row.status, row.reason[:11]) for row in rows]
    assert sorted(statuses) == [("t", "ok", "")] * 2 + [("u", "out-of-memory", "MemoryError")] * 2
