"""Runs of the sizes that locate N*: which cells they make, that they continue, and what the results say."""

import itertools
import json
import shutil
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest
from local_plugins import registers
from small_tasks import SMALL
from stored_rows import read_results
from waiting import kill_at

from bfc_bench import RunOptions, load_plugins, open_store, run_locating, run_suite, run_until_decided
from bfc_bench.analysis.claims.measures import Point, measure
from bfc_bench.analysis.claims.reaches import Reaches
from bfc_bench.analysis.compute import cost_curves
from bfc_bench.errors import UsageError
from bfc_bench.learner import BatchLearner, Predictor
from bfc_bench.run.session import run_cells
from bfc_bench.strategies.api import grid_of
from bfc_bench.strategies.strategy import strategy_of
from bfc_bench.suite.model import Suite

TASK = {**SMALL, "inputs": {"kind": "gaussian"}, "d": [4, 6], "n": [5, 10, 80, 160, 320]}
LEARNERS = [
    {"name": "kernel-ridge", "label": "p", "options": {"kernel": "poly", "degree": 2}, "tune": {}},
    {"name": "kernel-ridge", "label": "rbf", "options": {"kernel": "rbf"}, "tune": {}, "max_n": 160},
]
LEVEL = 1e-6


SUITE = {"learner": LEARNERS, "replicates": 3, "task": [TASK], "levels": [LEVEL]}


@pytest.fixture
def suite(suite_file):
    return suite_file(**SUITE)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The sessions and the store of a run of the suite."""
    store = tmp_path_factory.mktemp("whole") / "s"
    described = Suite.parse({"name": "tiny", "test_size": 200, **SUITE}, "tiny")
    return located(described, store), store


def located(path, store, tell=lambda text: None, factor=1.1, **options):
    return run_locating(path, RunOptions(store=store, executor="serial", **options), factor=factor, tell=tell)


def numbers(store):
    """Errors by cell."""
    return {row.cell: row.nmse for row in read_results("tiny", store=store)}


def test_n_star_of_each_replicate_lies_within_the_factor(whole):
    sessions, store = whole
    assert all(session.exit_code == 0 for session in sessions)
    rows = read_results("tiny", store=store)
    for d, replicate in itertools.product(TASK["d"], range(3)):
        curve = [row for row in rows if (row.label, row.d, row.replicate) == ("p", d, replicate)]
        below, above = max(r.n for r in curve if r.nmse > LEVEL), min(r.n for r in curve if r.nmse <= LEVEL)
        assert below < above <= max(1.1 * below, below + 2), "the ladder rounds to whole sizes"
        assert sum(r.nmse <= LEVEL for r in curve if r.n in (5, 10, 20, 40, 80, 160, 320)) == 2, "two sizes are enough"
    assert max(row.n for row in rows if row.label == "rbf") == 160


def test_claims_of_a_suite_with_looks_keep_a_verdict(suite_file, tmp_path):
    """Replicates that were located have sizes of their own, at which no look can be planned."""
    claim = {"id": "c", "kind": "reaches", "label": "p", "task": "t", "n": 320, "d": 4, "at_most": 1.0}
    path, store = suite_file(**SUITE, looks=[3, 5], claim=[claim]), tmp_path / "s"
    run_suite(path, RunOptions(store=store, executor="serial"))
    located(path, store)
    with open_store(store) as held:
        (verdict,) = held[str(path)].claims()
    assert (verdict.verdict, verdict.replicates) == ("supported", 3)


def test_errors_at_one_n_are_those_of_all_replicates(suite, tmp_path):
    """A replicate has a size of its own because of its N*, so a mean there would be of selected replicates."""
    located(suite, tmp_path / "s", changes=["levels=[0.2]"])
    with open_store(tmp_path / "s") as held:
        stored = held[str(suite)]
        rows, found, compared = stored.columns(), stored.curves(), stored.compare("p", "rbf")
    assert {point.replicates for curve in found for point in curve.points} == {3}
    assert {(pair.pairs, pair.unpaired) for pair in compared} == {(3, 0)}
    shared = {(curve.label, curve.d): set(curve.n[curve.shared].tolist()) for curve in found}
    for of in cost_curves(rows, found, "fit_cpu_seconds"):
        assert set(of.curve.n.tolist()) == shared[of.curve.label, of.curve.d]
    curve = next(curve for curve in found if not curve.shared.all())
    own = int(curve.n[~curve.shared][0])
    assert "chosen by their N*" in measure(rows, curve.label, "nmse", Point("t", curve.d, own)).problem
    for curve in found:
        claim = Reaches(id="c", source="own", label=curve.label, task="t", d=curve.d, at_most=1.0)
        assert claim.at(rows).n == max(shared[curve.label, curve.d])


def test_its_cells_are_those_of_a_plain_run_at_the_same_sizes(whole, suite, tmp_path):
    store = shutil.copytree(whole[1], tmp_path / "s")
    made = numbers(store)
    sizes = sorted({row.n for row in read_results("tiny", store=store)})
    run_suite(suite, RunOptions(store=tmp_path / "plain", executor="serial", changes=[f"task.t.n={sizes}"]))
    plain = numbers(tmp_path / "plain")
    assert made == pytest.approx({cell: plain[cell] for cell in made}, rel=1e-6, abs=1e-12)
    later = run_suite(suite, RunOptions(store=store, executor="serial"))
    assert later.plan.done
    assert {cell.id for cell in later.plan.done} <= made.keys()


def test_a_killed_run_continues_and_a_finished_one_has_nothing_to_do(whole, suite, tmp_path):
    store = tmp_path / "s"
    kill_at(70, "bfc_bench.run_locating(suite, options, factor=1.1)", suite, store)
    begun = numbers(store)
    assert len(begun) >= 70
    located(suite, store)
    assert numbers(store) == pytest.approx(numbers(whole[1]), rel=1e-6, abs=1e-12)
    assert begun.items() < numbers(store).items()
    (again,) = located(suite, store)
    assert (again.statuses, len(again.plan.done)) == (Counter(), len(numbers(store)))


def test_replicates_and_sizes_of_a_round_are_fitted_together(suite_file, tmp_path):
    class Together(BatchLearner):
        """Knows a linear target from ``at`` points on and half of it before, in batches of anything."""

        name: ClassVar[str] = "together"
        batches: ClassVar[list[int]] = []
        at: int = 1

        def batch_key(self, train):
            return "all"

        @classmethod
        def fit_batch(cls, jobs):
            cls.batches.append(len(jobs))
            return [Half(job.train, 0.5 if job.train.n < job.learner.at else 1.0) for job in jobs]

    class Half(Predictor):
        def __init__(self, train, share):
            self.weights = share * np.linalg.lstsq(train.x, train.y)[0]

        def predict(self, x):
            return x @ self.weights

    learners = [{"name": "together", "label": f"at-{at}", "options": {"at": at}} for at in (20, 40)]
    path = suite_file(
        learner=learners, replicates=3, task=[{**TASK, "target": {"kind": "linear"}, "d": [4]}], levels=[LEVEL]
    )
    sessions = located(path, tmp_path / "s", plugins=load_plugins([registers("learner", Together)]))
    assert Together.batches == [sum(session.statuses.values()) for session in sessions], "one batch a round"
    assert Together.batches[0] == 2 * 3 * 2


def test_the_command_says_what_it_cannot_see(suite, tmp_path, printed):
    store = str(tmp_path / "s")
    out = printed("run", suite, "--locate", "1.5", "--store", store, "--executor", "serial")
    assert "if an error rises above the level beyond them, it is not seen" in out
    assert "cells; this run:" in out


def test_plan_says_what_the_next_round_computes(suite, tmp_path, printed):
    store = tmp_path / "s"

    def planned():
        return json.loads(printed("plan", suite, "--locate", "1.1", "--store", store, "--format", "json"))

    options = RunOptions(store=store, executor="serial")
    grid = grid_of(suite, ["locate.factor=1.1"], load_plugins(), (), ())
    for cells in strategy_of(grid, options):
        before = planned()
        assert (before["todo"], before["done"]) == (len(cells), len(numbers(store)) if store.exists() else 0)
        run_cells(grid, cells, options)
    assert planned()["todo"] == 0


def test_a_suite_may_ask_for_it_with_levels_of_its_own(suite_file, tmp_path, suite, printed):
    store = tmp_path / "s"
    asks = suite_file(
        learner=LEARNERS, replicates=3, task=[TASK], levels=[0.5], locate={"factor": 1.5, "levels": [LEVEL]}
    )
    printed("run", asks, "--store", store, "--executor", "serial")
    located(asks, tmp_path / "in Python", factor=None)
    located(suite, tmp_path / "asked", factor=1.5, changes=[f"levels=[{LEVEL}]"])
    assert numbers(store).keys() == numbers(tmp_path / "in Python").keys() == numbers(tmp_path / "asked").keys()
    for other in (run_suite, run_until_decided):
        with pytest.raises(UsageError, match="in Python, use run_locating"):
            other(asks, RunOptions(store=store, executor="serial"))
