"""What cells are estimated to cost together and apart, and that batches do once what their cells share."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from bfc_bench import run_suite
from bfc_bench.plugins import load_plugins
from bfc_bench.run import costs, plan
from bfc_bench.run.plan import Plan
from bfc_bench.run.resolve import resolve
from bfc_bench.run.session import plan_for
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite

SIZES = [500, 1000, 2000, 4000]
RIDGES = [10.0**k for k in range(-6, 4)]
TASK = {
    "name": "t",
    "inputs": {"kind": "uniform"},
    "target": {"kind": "quadratic-densenet", "widths": [2], "alphas": [1.0]},
    "d": [20],
    "n": SIZES,
}
TUNED = {"name": "kernel-ridge", "tune": {"ridge": RIDGES}}


def fixed(ridge: float) -> dict[str, object]:
    """A learner of one ridge, whose label says which."""
    return {"name": "kernel-ridge", "label": f"ridge-{ridge:g}", "options": {"ridge": ridge, "gamma": 1.0}, "tune": {}}


def suite(**values) -> Suite:
    return Suite.parse({"name": "s", "replicates": 1, "task": [TASK], "learner": [TUNED], **values}, "test")


def planned(store: Store | None = None, **values) -> Plan:
    return plan_for(resolve(suite(**values), load_plugins(), "test"), store, "cpu")


def flops(made: Plan) -> float:
    return sum(made.seconds.values()) * costs.FLOPS_PER_SECOND["cpu"]


def test_what_the_cells_of_a_curve_share_counts_once_at_the_largest_size():
    """One matrix, and one factor for each ridge; what each cell does by itself is added."""
    made = planned(learner=[fixed(1e-3), fixed(1.0)])
    learner = made.grid.entries["ridge-1"].learner
    largest = learner.cost(SIZES[-1], 20)
    own = sum(learner.cost(n, 20).own for n in SIZES)
    assert flops(made) == pytest.approx(largest.shared["matrix"] + 2 * largest.shared["factor", 1.0] + 2 * own)
    assert sum(made.seconds.values()) < sum(made.costs.seconds([cell])[cell.id] for cell in made.todo)


def test_a_tuned_cell_costs_its_candidates_on_their_part_of_the_points_and_one_more_fit():
    made = planned(task=[{**TASK, "n": [1000]}])
    learner = made.grid.entries["kernel-ridge"].learner
    trial, again = learner.cost(800, 20), learner.cost(1000, 20)
    factors, own = 10 * trial.shared["factor", learner.ridge], 10 * trial.own
    assert flops(made) == pytest.approx(trial.shared["matrix"] + factors + own + again.flops)


def test_other_kernels_and_other_samples_share_nothing():
    made = planned(learner=[{"name": "kernel-ridge", "tune": {"gamma": [0.03, 1.0]}}], replicates=2)
    learner = made.grid.entries["kernel-ridge"].learner
    shared = sum(learner.cost(3200, 20).shared.values())
    own = sum(2 * learner.cost(n - n // 5, 20).own + learner.cost(n, 20).flops for n in SIZES)
    assert flops(made) == pytest.approx(2 * (2 * shared + own))


@pytest.mark.parametrize("jobs", [1, 2, 64])
def test_a_curve_that_shares_a_factor_stays_whole_however_many_workers_there_are(jobs, monkeypatch):
    monkeypatch.setattr(plan, "SHORTEST_SECONDS", 0.0)
    batches = [item.batch.cells for item in planned(replicates=3).batches(jobs)]
    assert [[cell.n for cell in cells] for cells in batches] == [SIZES] * 3


def test_curves_of_one_sample_that_share_no_factor_are_cut_apart_to_keep_workers_busy(monkeypatch):
    monkeypatch.setattr(plan, "SHORTEST_SECONDS", 0.0)
    made = planned(learner=[fixed(ridge) for ridge in RIDGES])
    batches = [item.batch.cells for item in made.batches(4)]
    assert len(batches) >= 4
    for cells in batches:
        assert Counter(cell.label for cell in cells) == dict.fromkeys({cell.label for cell in cells}, len(SIZES))


def test_a_run_factorises_once_for_each_ridge_and_once_for_each_choice(tmp_path, monkeypatch):
    """Cut by the sum of what its cells take alone, this curve would be two batches, with twice the factors."""
    from bfc_bench.toolkit.ridge import RidgeCurve

    monkeypatch.setattr(plan, "SHORTEST_SECONDS", 0.0)
    orders, factor = [], RidgeCurve._factor
    monkeypatch.setattr(RidgeCurve, "_factor", lambda self, *args: orders.append(args[0]) or factor(self, *args))
    small = suite(task=[{**TASK, "n": [50, 100, 200, 250]}], test_size=100)
    assert run_suite(small, store=tmp_path, executor="serial").exit_code == 0
    assert orders.count(200) >= len(RIDGES)
    assert len(orders) <= len(RIDGES) + 4


def test_estimates_of_cells_with_rows_are_what_their_rows_say(tmp_path):
    """Together as well: the time of a batch is divided among its rows, so that nothing is to be taken off them."""
    grid = planned(replicates=3).grid
    taken = {500: 1.0, 1000: 2.0, 2000: 8.0, 4000: 64.0}
    with Store(tmp_path, write=True) as store:
        digests = grid.task_digests["t"], grid.learner_digests["kernel-ridge"]
        store.define("s", 1, grid.task_digests, grid.learner_digests)
        for cell in (cell for cell in grid.cells() if cell.replicate == 0):
            row = Row(cell.id, "s", 1, "t", "kernel-ridge", cell.label, {}, cell.d, cell.n, 0, "ok")
            store.put([(replace(row, device="cpu", fit_cpu_seconds=taken[cell.n]), *digests, "")])
        made = planned(store, replicates=3)
    assert len(made.todo) == 2 * len(SIZES)
    assert {cell.n: made.seconds[cell.id] for cell in made.todo} == taken
    assert sum(item.seconds for item in made.batches(1)) == pytest.approx(2 * sum(taken.values()))
