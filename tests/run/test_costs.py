"""What cells are estimated to cost together and apart, and that batches do once what their cells share."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from bfc_bench import Cost, RunOptions, open_store, run_suite
from bfc_bench.plugins import load_plugins
from bfc_bench.run import plan
from bfc_bench.run.grid import resolve
from bfc_bench.run.plan import Plan
from bfc_bench.run.rates import CPU_FLOPS
from bfc_bench.run.session import plan_for
from bfc_bench.store.row import Row, measured
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite

SIZES = [1000, 1500, 2500, 4000]
RIDGES = [10.0**k for k in range(-6, 4)]
TASK = {
    "name": "t",
    "inputs": {"kind": "uniform"},
    "target": {"kind": "quadratic-densenet", "widths": [2], "alphas": [1.0]},
    "d": [20],
    "n": SIZES,
}
RATES = CPU_FLOPS
GAMMAS = {"gamma": [0.03, 1.0]}
TUNED = {"name": "kernel-ridge", "tune": {"ridge": RIDGES}}


def fixed(ridge: float) -> dict[str, object]:
    """A learner of one ridge, whose label says which."""
    return {"name": "kernel-ridge", "label": f"ridge-{ridge:g}", "options": {"ridge": ridge, "gamma": 1.0}, "tune": {}}


def suite(**values) -> Suite:
    return Suite.parse({"name": "s", "replicates": 1, "task": [TASK], "learner": [TUNED], **values}, "test")


def planned(store: Store | None = None, **values) -> Plan:
    return plan_for(resolve(suite(**values), load_plugins(), "test"), store, "cpu")


def total(made: Plan) -> float:
    return sum(made.seconds.values())


def own(cost: Cost) -> float:
    """Seconds of what a fit does by itself."""
    return cost.own / RATES[cost.work] + cost.seconds


def alone(cost: Cost) -> float:
    """Seconds of a fit by itself."""
    return cost.flops / RATES[cost.work] + cost.seconds


def test_what_the_cells_of_a_curve_share_counts_once_at_the_largest_size():
    """One matrix, and one factor for each ridge; what each cell does by itself is added."""
    made = planned(learner=[fixed(1e-3), fixed(1.0)])
    learner = made.grid.entries["ridge-1"].learner
    each = [learner.cost(n, 20) for n in SIZES]
    shared = sum(cost.shared["predictions", n] for n, cost in zip(SIZES, each, strict=True))
    shared += each[-1].shared["matrix"] + 2 * each[-1].shared["factor", 1.0]
    assert total(made) == pytest.approx(shared / RATES["products"] + 2 * sum(map(own, each)))
    assert total(made) < sum(made.costs.seconds([cell])[cell.id] for cell in made.todo)


def test_a_tuned_cell_costs_its_candidates_on_their_part_of_the_points_and_one_more_fit():
    made = planned(task=[{**TASK, "n": [1000]}])
    learner = made.grid.entries["kernel-ridge"].learner
    trial, again = learner.cost(800, 20), learner.cost(1000, 20)
    shared = trial.shared["matrix"] + trial.shared["predictions", 800] + 10 * trial.shared["factor", learner.ridge]
    assert total(made) == pytest.approx(shared / RATES["products"] + 10 * own(trial) + alone(again))


def test_other_kernels_and_other_samples_share_nothing():
    none, one, two = (planned(learner=[{**TUNED, "tune": tune}]) for tune in ({}, {"gamma": [0.03]}, GAMMAS))
    assert total(two) - total(none) == pytest.approx(2 * (total(one) - total(none)))
    assert total(planned(learner=[{**TUNED, "tune": GAMMAS}], replicates=2)) == pytest.approx(2 * total(two))


def test_what_trainings_at_other_penalties_share_is_a_path_that_counts_once():
    """Quadratic Taylor models come to a small penalty through the larger ones, each of them a candidate too."""
    task = {**TASK, "inputs": {"kind": "sphere"}, "d": [6], "n": [200]}
    penalties = [1e-2, 1e-3, 1e-4, 1e-5]
    made = planned(task=[task], learner=[{"name": "quad-neural", "tune": {"regularization": penalties}}])
    learner = made.grid.entries["quad-neural"].learner
    last, again = learner.model_copy(update={"regularization": 1e-5}).cost(160, 6), learner.cost(200, 6)
    assert total(made) == pytest.approx(alone(last) + 3 * own(last) + alone(again))


@pytest.mark.parametrize("name", sorted(set(load_plugins().learners) - {"sklearn"}))
def test_every_built_in_learner_says_what_work_its_flops_are(name):
    assert load_plugins().learner(name)().cost(1000, 64).work in ("products", "steps")


@pytest.mark.parametrize("jobs", [1, 2, 64])
def test_a_curve_that_shares_a_factor_stays_whole_however_many_workers_there_are(jobs, monkeypatch):
    monkeypatch.setattr(plan, "SHORTEST_SECONDS", {"cpu": 0.0})
    batches = [item.batch.cells for item in planned(replicates=3).batches(jobs)]
    assert [[cell.n for cell in cells] for cells in batches] == [SIZES] * 3


def test_curves_of_one_sample_that_share_no_factor_are_cut_apart_to_keep_workers_busy(monkeypatch):
    monkeypatch.setattr(plan, "SHORTEST_SECONDS", {"cpu": 0.0})
    made = planned(learner=[fixed(ridge) for ridge in RIDGES])
    batches = [item.batch.cells for item in made.batches(4)]
    assert len(batches) >= 4
    for cells in batches:
        assert Counter(cell.label for cell in cells) == dict.fromkeys({cell.label for cell in cells}, len(SIZES))


def test_a_run_factorises_once_for_each_ridge_and_once_for_each_choice(tmp_path, monkeypatch):
    """Cut by the sum of what its cells take alone, this curve would be two batches, with twice the factors."""
    from bfc_bench.toolkit.ridge import RidgeCurve

    monkeypatch.setattr(plan, "SHORTEST_SECONDS", {"cpu": 0.0})
    orders, factor = [], RidgeCurve._factor
    monkeypatch.setattr(RidgeCurve, "_factor", lambda self, *args: orders.append(args[0]) or factor(self, *args))
    short = suite(task=[{**TASK, "n": [1000, 1250]}], test_size=100)
    assert run_suite(short, RunOptions(store=tmp_path, executor="serial")).exit_code == 0
    assert orders.count(1000) in (len(RIDGES), len(RIDGES) + 1)  # the candidates' part of 1250 points, and a choice
    assert len(orders) <= len(RIDGES) + 2


def test_estimates_of_cells_with_rows_are_what_their_rows_say(tmp_path):
    """Together as well: the time of a batch is divided among its rows, so that nothing is to be taken off them."""
    grid = planned(replicates=3).grid
    taken = {1000: 1.0, 1500: 2.0, 2500: 8.0, 4000: 64.0}
    with Store(tmp_path, write=True) as store:
        digests = grid.task_digests["t"], grid.learner_digests["kernel-ridge"]
        store.sessions.define("s", 1, grid.task_digests, grid.learner_digests)
        for cell in (cell for cell in grid.cells() if cell.replicate == 0):
            row = Row(cell.id, "s", 1, "t", "kernel-ridge", cell.label, {}, cell.d, cell.n, 0, "ok")
            store.put([(replace(row, device="cpu", fit_cpu_seconds=taken[cell.n]), *digests, "")])
        made = planned(store, replicates=3)
    assert len(made.todo) == 2 * len(SIZES)
    assert {cell.n: made.seconds[cell.id] for cell in made.todo} == taken
    assert sum(item.seconds for item in made.batches(1)) == pytest.approx(2 * sum(taken.values()))


def test_a_learner_that_claims_to_cost_nothing_is_planned_all_the_same(monkeypatch):
    from bfc_plugins.kernels.kernel_ridge import KernelRidge

    monkeypatch.setattr(KernelRidge, "cost", lambda self, n, d: Cost(0.0, 0.0))
    assert total(planned()) == 0


def test_rows_have_the_declared_operations_of_all_candidates_and_the_parameters_of_the_chosen_learner(tmp_path):
    tuned = suite(task=[{**TASK, "n": [100, 200]}], learner=[TUNED, fixed(1.0)], test_size=100)
    with_scikit = {"name": "sklearn:neighbors.KNeighborsRegressor", "label": "knn"}
    tuned = tuned.model_copy(update={"learner": [*tuned.learner, *suite(learner=[with_scikit]).learner]})
    assert run_suite(tuned, RunOptions(store=tmp_path, executor="serial")).exit_code == 0
    with open_store(tmp_path) as store:
        rows = {(row.label, row.n): row for row in store["s"].rows()}
    learner = planned().grid.entries["kernel-ridge"].learner
    for n in (100, 200):
        once = learner.cost(n, 20).fit_flops
        assert rows["ridge-1", n].fit_flops == once
        candidates = len(RIDGES) * learner.cost(n - n // 5, 20).fit_flops
        assert rows["kernel-ridge", n].fit_flops == pytest.approx(once + candidates)
        assert rows["ridge-1", n].parameters == rows["kernel-ridge", n].parameters == n
        assert rows["knn", n].fit_flops == 50.0 * n * 20
        assert rows["knn", n].parameters is None


def test_a_learner_without_a_declared_cost_has_rows_without_operations(tmp_path, monkeypatch):
    from bfc_plugins.kernels.kernel_ridge import KernelRidge

    monkeypatch.setattr(KernelRidge, "cost", lambda self, n, d: None)
    small = suite(task=[{**TASK, "n": [50]}], learner=[fixed(1.0)], test_size=100)
    assert run_suite(small, RunOptions(store=tmp_path, executor="serial")).exit_code == 0
    with open_store(tmp_path) as store:
        (row,) = store["s"].rows()
    assert (row.status, row.fit_flops, row.parameters) == ("ok", None, None)


def test_declared_operations_are_no_measured_column():
    """A release that declares other operations, or none, has the same results."""
    row = Row("c", "s", 1, "t", "l", "l", {}, 2, 3, 0, "ok")
    declared = replace(row, fit_flops=1.0, parameters=2)
    assert measured(declared.as_dict()) == measured(row.as_dict())
