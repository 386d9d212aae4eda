"""What is planned for a GPU, which is declared: what fits into it, how long it takes, and what a login node says."""

import json

import pytest
from declared_gpus import H200, declare
from small_tasks import SMALL, plan_from

from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.suite.model import Suite

TASK = {**SMALL, "d": [20], "n": [1000, 30_000]}
KERNEL = {"name": "kernel-ridge", "options": {"gamma": 1.0}, "tune": {}}
ON_CORES = {"name": "sklearn:linear_model.Ridge"}
LARGEST = 2 * 8 * 30_000**2
"""Bytes of a kernel matrix of 30,000 points and its factor."""


def planned(device="cuda", executor=None, **values):
    described = {"replicates": 1, "task": [TASK], "learner": [KERNEL], **values}
    return plan_from(described, device=device, executor=executor)


def test_a_cell_on_a_gpu_is_judged_by_the_gpus_memory_and_its_data_by_the_hosts(monkeypatch):
    declare(monkeypatch, H200)
    plan = planned()  # 14.4 GB: more than the 8 of the host
    assert not plan.skipped
    assert plan.peak_bytes("cuda") >= LARGEST
    assert plan.memory["cuda"] == int(0.45 * H200[1])
    declare(monkeypatch, ("a small GPU", 24 * 10**9))
    (reason,) = planned().skipped.values()
    assert reason.startswith("needs 14.")
    assert reason.endswith("GB of a GPU's memory; a cell may take 10.8 GB")
    declare(monkeypatch, H200)
    (reason,) = planned(budget={"memory_gb": 0.012}).skipped.values()
    assert reason.startswith("its data take")
    assert reason.endswith("the budget is 0.012 GB")


def test_what_a_suite_says_a_cell_may_take_is_what_it_may_take(monkeypatch):
    declare(monkeypatch, H200)
    (reason,) = planned(budget={"gpu_memory_gb": 2.0}).skipped.values()
    assert reason.endswith("a cell may take 2 GB")
    declare(monkeypatch)
    assert len(planned().skipped) == 1  # as much as of the host
    assert not planned(budget={"gpu_memory_gb": 20.0}).skipped
    assert len(planned("cpu", budget={"gpu_memory_gb": 20.0}).skipped) == 1


def test_workers_that_share_a_gpu_share_what_a_cell_may_take(monkeypatch):
    declare(monkeypatch, ("some GPU", 40 * 10**9))
    assert not planned(executor=ProcessExecutor()).skipped
    (reason,) = planned(executor=ProcessExecutor(jobs_per_gpu=2)).skipped.values()
    assert reason.endswith("a cell may take 9 GB")


def test_learners_that_keep_to_the_cores_have_the_hosts_memory(monkeypatch):
    declare(monkeypatch, ("a tiny GPU", 10**7))
    plan = planned(learner=[KERNEL, ON_CORES])
    assert {cell.label for cell in plan.skipped} == {"kernel-ridge"}
    assert plan.peak_bytes("cuda") == 0 < plan.peak_bytes("cpu")


def test_batches_on_a_gpu_are_cut_by_its_memory_and_placed_by_that_of_the_host(monkeypatch):
    learner = [{**KERNEL, "label": f"g{k}", "options": {"gamma": 1.0, "ridge": 10.0**-k}} for k in range(3)]
    wide = {**TASK, "n": [1000]}

    def batches(memory):
        declare(monkeypatch, ("some GPU", memory))
        plan = planned(learner=learner, task=[wide], budget={"cell_seconds": 1000.0})
        return plan, plan.batches(1, 1)

    plan, (one,) = batches(10**12)
    assert len(one.cells) == 3
    needs = plan.bytes[one.cells[0].id]
    _, several = batches(int(1.5 * needs / 0.45))
    assert [len(batch.cells) for batch in several] == [1, 1, 1]


def test_what_a_gpu_has_names_no_cell_and_changes_no_definition():
    grids = [planned("cpu", budget=budget).grid for budget in ({}, {"gpu_memory_gb": 2.0})]
    ids = [[cell.id for cell in grid.cells()] for grid in grids]
    assert ids[0] == ids[1]
    assert "gpu_memory_gb" not in grids[0].suite.definition()["budget"]
    assert Suite.parse(grids[1].suite.definition(), "test").budget.gpu_memory_gb == 2.0


def test_seconds_are_divided_by_the_workers_of_their_device(monkeypatch, suite_file, tmp_path, printed):
    declare(monkeypatch, *[H200] * 2)
    monkeypatch.setattr(ProcessExecutor, "resolve_device", lambda self, request: request)
    path = suite_file(
        learner=[KERNEL, {"name": "sklearn:ensemble.RandomForestRegressor"}],
        task=[{**TASK, "n": [50_000]}],
        budget={"gpu_memory_gb": 60.0},
        executor={"name": "processes", "jobs_per_gpu": 3},
    )
    plan = ["plan", str(path), "--device", "cuda", "--jobs", "2", "--store", str(tmp_path / "s")]
    told = json.loads(printed(*plan, "--format", "json"))
    assert (told["jobs"], told["gpu_jobs"]) == (2, 6)
    assert min(told["cpu_seconds"] / 2, told["gpu_seconds"] / 6) > 0.1, "or the sum would pass"
    assert told["wall_seconds"] == pytest.approx(max(told["cpu_seconds"] / 2, told["gpu_seconds"] / 6), abs=0.1)
    assert " on 6 GPU workers and 2 workers; largest cell" in printed(*plan)


@pytest.mark.parametrize("options", [[], ["--set", "budget.gpu_memory_gb=20"]])
def test_a_login_node_plans_for_a_gpu_that_it_does_not_see_and_runs_nothing(
    options, suite_file, cli, tmp_path, printed, refused
):
    path = suite_file(learner=[KERNEL, {"name": "sklearn:ensemble.RandomForestRegressor"}], task=[TASK])
    where = ["--device", "cuda", "--store", tmp_path / "s", *options]
    shown = printed("plan", path, *where)
    (line,) = [line for line in shown.splitlines() if "no GPU is visible here" in line]
    memory = "20 GB" if options else "8 GB"
    assert memory in line
    assert f"of {memory.replace(' ', '.00 ')}" in shown
    told = json.loads(cli("plan", path, *where, "--format", "json").stdout)
    assert (told["device"], told["skipped"]) == ("cuda", 0 if options else 1)
    assert sum("no GPU is visible here" in remark for remark in told["remarks"]) == 1
    assert "neither torch nor jax can see a GPU here" in refused("run", path, *where)
    assert not (tmp_path / "s").exists()
