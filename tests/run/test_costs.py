"""What cells are estimated to cost, and the operations that their rows declare."""

import pytest
from small_tasks import SMALL, plan_from
from stored_rows import hold_times

from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.costs import FLOPS, overhead_and_rate
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite

SIZES = [1000, 1500, 2500, 4000]
RIDGES = [10.0**k for k in range(-6, 4)]
TASK = {**SMALL, "d": [20], "n": SIZES}
TUNED = {"name": "kernel-ridge", "tune": {"ridge": RIDGES}}


def fixed(ridge):
    """A learner of one ridge, whose label says which."""
    return {"name": "kernel-ridge", "label": f"ridge-{ridge:g}", "options": {"ridge": ridge, "gamma": 1.0}, "tune": {}}


def planned(store=None, **values):
    return plan_from({"replicates": 1, "task": [TASK], "learner": [TUNED], **values}, store)


def total(made):
    return sum(made.seconds.values())


def alone(cost):
    """Declared seconds of a fit."""
    return cost.flops / FLOPS["cpu"][cost.work] + cost.seconds


def test_a_tuned_cell_costs_its_candidates_on_their_part_of_the_points_and_one_more_fit():
    made = planned(task=[{**TASK, "n": [1000]}])
    learner = made.grid.entries["kernel-ridge"].learner
    trial, again = learner.cost(800, 20), learner.cost(1000, 20)
    assert total(made) == pytest.approx(len(RIDGES) * alone(trial) + alone(again))


@pytest.mark.parametrize("name", sorted(set(load_plugins().learners) - {"ensemble", "sklearn"}))
def test_every_built_in_learner_says_what_work_its_flops_are(name):
    assert load_plugins().learner(name)().cost(1000, 64).work in ("products", "steps")


def test_estimates_of_cells_with_rows_are_what_their_rows_say(tmp_path):
    grid = planned(replicates=3).grid
    taken = {1000: 1.0, 1500: 2.0, 2500: 8.0, 4000: 64.0}
    with Store(tmp_path, write=True) as store:
        hold_times(store, grid, {cell: taken[cell.n] for cell in grid.cells() if cell.replicate == 0})
        made = planned(store, replicates=3)
    assert len(made.todo) == 2 * len(SIZES)
    assert {cell.n: made.seconds[cell.id] for cell in made.todo} == taken
    assert sum(item.seconds for item in made.batches(1)) == pytest.approx(2 * sum(taken.values()))


OVERHEAD, RATE, DECLARED = 0.5, 3e-9, 1e-10
FITS = [(flops, OVERHEAD + RATE * flops) for flops in (1e6, 4e6, 2e8, 1e9, 8e9)]
"""Operations and seconds of fits."""


@pytest.mark.parametrize("slow", [None, *range(len(FITS))])
def test_overhead_and_rate_of_rows_are_found_even_if_one_row_is_slow(slow):
    points = [(flops, 100 * taken if i == slow else taken) for i, (flops, taken) in enumerate(FITS)]
    assert overhead_and_rate(points, DECLARED) == pytest.approx((OVERHEAD, RATE))
    assert overhead_and_rate([(flops, RATE * flops) for flops, _ in FITS], DECLARED) == pytest.approx((0.0, RATE))


@pytest.mark.parametrize("points", [[(1e6, 0.5)], [(1e6, 0.5)] * 3, [(1e6, 0.5), (2e6, 0.5), (3e6, 0.51)]])
def test_times_that_do_not_show_the_rate_are_met_and_not_extrapolated_as_if_all_were_work(points):
    overhead, rate = overhead_and_rate(points, DECLARED)
    assert overhead + rate * points[0][0] == pytest.approx(0.5, rel=0.05)
    assert DECLARED < rate < 0.1 * points[0][1] / points[0][0]
    assert overhead_and_rate([(1e6, 1e-5)], DECLARED) == pytest.approx((0.0, 1e-11))  # faster than declared


def test_a_larger_size_than_the_rows_have_costs_its_overhead_once(tmp_path):
    grid = planned(learner=[fixed(1.0)]).grid
    cost = grid.entries["ridge-1"].learner.cost
    measured = [cell for cell in grid.cells() if cell.n < max(SIZES)]
    with Store(tmp_path, write=True) as store:
        hold_times(store, grid, {cell: OVERHEAD + RATE * cost(cell.n, 20).flops for cell in measured})
        made = planned(store, learner=[fixed(1.0)])
    assert total(made) == pytest.approx(OVERHEAD + RATE * cost(max(SIZES), 20).flops)
    assert sum(batch.seconds for batch in made.batches(2)) == pytest.approx(total(made))


def test_rows_have_the_declared_operations_of_all_candidates_and_the_parameters_of_the_chosen_learner(tmp_path):
    described = {"name": "s", "replicates": 1, "task": [{**TASK, "n": [100, 200]}], "test_size": 100}
    with_scikit = {"name": "sklearn:neighbors.KNeighborsRegressor", "label": "knn"}
    tuned = Suite.parse({**described, "learner": [TUNED, fixed(1.0), with_scikit]}, "s")
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
