"""How cells are put into batches, in what order these are handed out, and what workers may touch."""

import heapq

import pytest
from small_tasks import SMALL, plan_from
from stored_rows import hold_times

from bfc_bench.run.plan import SHORTEST_SECONDS, plan_for
from bfc_bench.store.store import Store
from bfc_bench.utils.plain_json import digest

TASK = {**SMALL, "d": [4, 6], "n": [20, 30, 50]}


def planned(steps=20_000, device="cpu", **values):
    """The plan of networks of two shapes, under three labels, and of two kernels, on two dimensions."""
    network = {"widths": [40], "steps": steps}
    learners = [
        {"name": "quad-densenet", "label": "slow", "options": {**network, "lr": 0.001}, "tune": {}},
        {"name": "quad-densenet", "label": "fast", "options": {**network, "lr": 0.01}, "tune": {}},
        {"name": "quad-densenet", "label": "wide", "options": {**network, "widths": [100]}, "tune": {}},
        {"name": "kernel-ridge", "label": "smooth", "options": {"ridge": 1.0, "gamma": 0.1}, "tune": {}},
        {"name": "kernel-ridge", "label": "rough", "options": {"ridge": 1e-6, "gamma": 0.1}, "tune": {}},
    ]
    return plan_from({"replicates": 8, "task": [TASK], "learner": learners, **values}, device=device)


def key(plan, cell):
    learner, suite = plan.grid.entries[cell.label].learner, plan.grid.suite
    problem = plan.grid.tasks[cell.task].problem(suite.seed, cell.d, cell.replicate, suite.test_size)
    return learner.batch_key(problem.spec(cell.n))


def wall(seconds, jobs):
    """The time that ``jobs`` workers take for units that are handed out in this order."""
    free = [0.0] * jobs
    for unit in seconds:
        heapq.heappush(free, heapq.heappop(free) + unit)
    return max(free)


def test_a_cell_is_named_by_what_determines_its_result():
    """By the digest of plain data: names must stay what they are, for rows are found by them."""
    grid = planned().grid
    for cell in grid.cells():
        base = digest([grid.task_digests[cell.task], grid.learner_digests[cell.label], cell.label])
        assert cell.id == digest([base, cell.d, cell.n, cell.replicate])


def test_every_cell_is_in_one_batch_of_one_learner():
    plan = planned()
    batches = plan.batches(2)
    assert sorted(cell.id for batch in batches for cell in batch.cells) == sorted(cell.id for cell in plan.todo)
    for batch in batches:
        assert len({plan.grid.entries[cell.label].learner.name for cell in batch.cells}) == 1
        assert set(batch.grid.entries) == {cell.label for cell in batch.cells}


def test_cells_that_can_be_trained_together_are_whatever_their_label_size_and_replicate():
    plan = planned(steps=100)
    batches: dict[object, set[int]] = {}
    members: dict[object, set[object]] = {}
    for number, item in enumerate(plan.batches(1)):
        for cell in item.cells:
            batches.setdefault(key(plan, cell), set()).add(number)
            members.setdefault(key(plan, cell), set()).add((cell.label, cell.n))
    assert all(len(numbers) == 1 for numbers in batches.values())
    for labels in ({"slow", "fast"}, {"smooth", "rough"}):
        assert {(label, n) for label in labels for n in (20, 30, 50)} in members.values()


def test_quick_learners_go_first_and_longer_batches_of_a_learner():
    """So that those that need seconds answer before one that needs minutes begins."""
    slow = {"name": "quad-densenet", "label": "slow", "options": {"widths": [40], "steps": 50_000}, "tune": {}}
    quick = [
        {"name": "sklearn:linear_model.Ridge", "label": "linear", "tune": {}},
        {"name": "kernel-ridge", "tune": {}},
    ]
    batches = planned(learner=[slow, *quick]).batches(2)
    labels = [item.cells[0].label for item in batches]
    totals = {label: sum(i.seconds for i in batches if i.cells[0].label == label) for label in set(labels)}
    assert list(dict.fromkeys(labels)) == sorted(totals, key=totals.__getitem__)
    seconds = [item.seconds for item in batches if item.cells[0].label == "slow"]
    assert all(later <= 2 * earlier for i, earlier in enumerate(seconds) for later in seconds[i:])


def test_a_plan_warns_of_cells_whose_time_is_near_the_limit():
    seconds = max(planned().seconds.values())
    (caution, *_) = planned(budget={"cell_seconds": 1.5 * seconds}).cautions
    assert caution.startswith("wide on t: cells estimated to take up to")
    assert f"the limit is {1.5 * seconds:g} s" in caution
    assert not planned(budget={"cell_seconds": 3 * seconds}).cautions


@pytest.mark.parametrize("jobs", [2, 4, 8, 16])
@pytest.mark.parametrize("labels", [["slow"], ["slow", "fast", "wide", "smooth", "rough"]])
def test_no_worker_is_idle_for_long_at_the_end(jobs, labels):
    plan = planned(replicates=200)
    plan.todo = [cell for cell in plan.todo if cell.label in labels]
    seconds = [item.seconds for item in plan.batches(jobs)]
    assert wall(seconds, jobs) <= sum(seconds) / jobs + SHORTEST_SECONDS["cpu"]
    assert max(seconds) > 1.5 * SHORTEST_SECONDS["cpu"]  # or it would be so by itself


def test_a_batch_stays_within_a_quarter_of_a_cells_time_and_within_memory():
    plan = planned(budget={"cell_seconds": 8, "memory_gb": 1})
    batches = plan.batches(1)
    assert any(len(item.cells) > 1 for item in batches)
    for item in batches:
        cells = item.cells
        assert len(cells) == 1 or item.seconds <= 2
        assert len(cells) == 1 or sum(plan.bytes[cell.id] for cell in cells) <= 1e9


def test_learners_that_can_use_a_gpu_do_and_the_others_keep_to_the_cores():
    learners = [{"name": "sklearn:linear_model.Ridge"}, {"name": "kernel-ridge", "tune": {}}]
    plan = planned(device="cuda", learner=learners)
    assert plan.skipped == {}
    devices = {label: item.device for item in plan.batches(2, 1) for label in item.grid.entries}
    can = {label: entry.learner.capabilities.devices for label, entry in plan.grid.entries.items()}
    assert devices == {label: "cuda" if "cuda" in able else "cpu" for label, able in can.items()}
    assert set(devices.values()) == {"cpu", "cuda"}
    assert plan.batches(0, 0), "nodes may join later"


def test_estimates_come_from_rows_of_the_same_device(tmp_path):
    plan = planned()
    cell, one, other, *_ = (c for c in plan.todo if (c.label, c.d, c.n) == ("slow", 4, 20))
    with Store(tmp_path, write=True) as store:
        hold_times(store, plan.grid, {one: 7.0})
        hold_times(store, plan.grid, {other: 0.1}, "cuda")
        assert plan_for(plan.grid, store, "cpu").seconds[cell.id] == 7.0
        assert plan_for(plan.grid, store, "cuda").seconds[cell.id] == 0.1
