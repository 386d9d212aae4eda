"""A suite in parts gives the rows of one run, whatever becomes of the parts."""

import os
import re
import signal
import subprocess
import sys

import pytest
from slurm_cluster import cluster, missing
from small_tasks import SMALL
from stored_rows import read_results
from waiting import completed, wait_until

from bfc_bench import RunOptions, run_locating, run_suite
from bfc_bench.extras.slurm.job import ShardJob, sharded_runs
from bfc_bench.extras.slurm.queue import states
from bfc_bench.extras.slurm.shards import collect, divide, prepare
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.plan import plan_for
from bfc_bench.store import database
from bfc_bench.store.row import measured
from bfc_bench.store.schema import create_tables
from bfc_bench.store.store import Store
from bfc_bench.strategies.api import grid_of

pytestmark = pytest.mark.usefixtures("faulty")


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def rows_of(path, store):
    """What rows say of their cells, without what is about the run."""
    return {row.cell: measured(row.as_dict()) for row in read_results(path, store=store)}


def start(*arguments):
    return subprocess.Popen([sys.executable, "-m", "bfc_bench", *map(str, arguments)], stdout=subprocess.DEVNULL)


def processes(store, number):
    """The process of a shard of the last job."""
    (job, *_) = reversed(sharded_runs(store)) if sharded_runs(store) else [None]
    path = job and job.store(number) / "lock"
    return int(path.read_text() or 0) if path and path.exists() and job.runs_here(number) else 0


@pytest.mark.parametrize("verb", ["collect", "status"])
def test_without_a_store_there_is_nothing_to_collect_or_show(verb, store, refused):
    assert f"There is no store in {store}; " in refused(verb, "--store", store)
    store.write_text("")
    assert f"{store} is a file." in refused(verb, "--store", store)


def test_options_of_sbatch_keep_their_quotes_and_are_read_before_rows_are_collected(
    suite_file, store, printed, refused, monkeypatch
):
    submit = ["submit", suite_file(learner=[{"name": "mean"}]), "--shards", "1", "--store", store]
    script = printed(*submit, "--dry-run", "--sbatch", "--comment='a b' -p long")
    assert "#SBATCH '--comment=a b' -p long\n" in script
    assert "#SBATCH \n" not in printed(*submit, "--dry-run")
    monkeypatch.setattr("bfc_bench.extras.slurm.shards.collect", None)
    assert "--sbatch --comment='a b: No closing quotation." in refused(*submit, "--sbatch", "--comment='a b")


def test_three_shards_make_the_rows_of_one_run(suite_file, store, tmp_path, cli):
    learners = [
        *({"name": name} for name in ("mean", "linear-ridge", "kernel-ridge", "huge")),
        {"name": "together", "options": {"how": "raise", "at": 20}},
    ]
    path = suite_file(learner=learners, replicates=2, budget={"memory_gb": 15})
    run_suite(path, RunOptions(store=tmp_path / "one", jobs=1))
    ran = cli("submit", path, "--shards", "3", "--local", "--store", store)
    assert ran.returncode == 1  # two cells failed
    assert "20 new rows" in ran.stdout
    assert rows_of(path, store) == rows_of(path, tmp_path / "one")
    assert run_suite(path, RunOptions(store=store, executor="serial")).statuses == {}
    assert "nothing to do" in cli("submit", path, "--shards", "3", "--local", "--store", store).stdout


def test_a_shard_that_is_killed_is_collected_and_its_cells_are_submitted_again(suite_file, store, tmp_path, printed):
    path = suite_file(learner=[{"name": "slow"}], replicates=6)
    submitted = start("submit", path, "--shards", 3, "--local", "--store", store)
    wait_until(lambda: processes(store, 1))
    killed = processes(store, 1)
    wait_until((sharded_runs(store)[0].store(1) / "results.sqlite").exists)
    (line,) = collect(store)
    assert re.search(r"; shards that have not ended: [123] of 3$", line)
    os.kill(killed, signal.SIGKILL)
    assert submitted.wait() == 1
    before = rows_of(path, store)
    assert 0 < len(before) < 12
    assert collect(store) == []  # submit has collected them
    printed("submit", path, "--shards", "2", "--local", "--store", store)
    after = rows_of(path, store)
    assert len(after) == 12
    assert before.items() <= after.items()
    run_suite(path, RunOptions(store=tmp_path / "one", jobs=1, executor="serial"))
    assert after == rows_of(path, tmp_path / "one")


def test_a_shard_whose_store_has_no_tables_yet_has_no_rows_yet(suite_file, store, monkeypatch):
    grid = grid_of(suite_file(learner=[{"name": "mean"}]), (), load_plugins(), (), ())
    job, _ = prepare(grid, store, 1, 1, device="cpu")
    job.write()
    said = []

    def create(db):
        said.extend(collect(store))
        create_tables(db)

    monkeypatch.setattr(database, "create_tables", create)
    Store(job.store(0), write=True).close()
    assert said == ["0001-tiny: no rows yet; shards that have not ended: 0 of 1"]


def test_cells_of_shards_that_run_are_left_out_and_a_run_says_that_rows_may_be_missing(suite_file, store, cli):
    path = suite_file(learner=[{"name": "slow"}], replicates=20)
    assert "#SBATCH" in cli("submit", path, "--shards", "2", "--store", store, "--dry-run").stdout
    assert not store.exists()
    submitted = start("submit", path, "--shards", 2, "--local", "--store", store)
    wait_until(lambda: processes(store, 0) and processes(store, 1))
    said = cli("submit", path, "--shards", "2", "--store", store, "--dry-run").stdout
    assert "have them: 40 cells" in said
    assert "running" in cli("status", "--store", store).stdout
    submitted.send_signal(signal.SIGTERM)
    assert submitted.wait() == 130
    ran = cli("run", path, "--store", store, "--no-mlflow", "--executor", "serial")
    assert "rows of the shards of 0001-tiny may be missing here: `bfc-bench collect` brings them" in ran.stdout
    assert len(read_results(path, store=store)) == 40
    collect(store)
    assert len(read_results(path, store=store)) == 40


def test_a_failed_cell_is_made_again_if_asked_and_has_one_row(suite_file, store, cli):
    path = suite_file(learner=[{"name": "faulty", "options": {"how": "raise", "at": 20}}])
    for redo in ([], ["--redo", "failed"]):
        cli("submit", path, "--shards", "2", "--local", "--store", store, *redo)
    assert len(sharded_runs(store)) == 2
    rows = read_results(path, store=store)
    assert sorted((row.n, row.status) for row in rows) == [(10, "ok"), (20, "failed")]


def test_a_shard_of_another_version_of_a_learner_is_one_line(suite_file, store, cli):
    path = suite_file(learner=[{"name": "mean"}])
    cli("submit", path, "--shards", "1", "--local", "--store", store)
    folder = sharded_runs(store)[0].folder
    text = (folder / "job.json").read_text()
    cell = sharded_runs(store)[0].cells[0][0].id
    (folder / "job.json").write_text(text.replace(cell, "0" * 16))
    done = completed([sys.executable, "-m", "bfc_bench.extras.slurm", folder, "0"])
    assert done.returncode == 2
    assert "cells of shard 0 that differ from those where it was submitted: 1." in done.stderr
    assert done.stderr.count("\n") == 1


def test_shards_get_the_cells_of_the_next_round_of_a_run_that_locates_n_star(suite_file, store, tmp_path, cli):
    tasks = {"n": [5, 320], "labels": {"kind": "clean"}, "inputs": {"kind": "gaussian"}}
    learner = {"name": "kernel-ridge", "options": {"kernel": "poly", "degree": 2}, "tune": {}}
    path = suite_file(learner=[learner], task=[{**SMALL, **tasks}], levels=[1e-6], locate={"factor": 1.5})
    made = []
    while "nothing to do" not in cli("submit", path, "--shards", "2", "--local", "--store", store).stdout:
        made.append({cell.n for part in sharded_runs(store)[-1].cells for cell in part})
    located = run_locating(path, RunOptions(store=tmp_path / "one", executor="serial"))
    assert made == [{cell.n for cell in session.plan.todo} for session in located]
    assert rows_of(path, store) == rows_of(path, tmp_path / "one")


def test_shards_have_similar_work_and_every_cell_once(suite_file):
    path = suite_file(learner=[{"name": "linear-ridge"}, {"name": "kernel-ridge"}], replicates=9)
    plan = plan_for(grid_of(path, (), load_plugins(), (), ()), None, "cpu")
    parts = divide(plan, 4, 1)
    assert len(parts) == 4
    assert sorted(cell.id for part in parts for cell in part) == sorted(cell.id for cell in plan.todo)
    assert divide(plan, 4, 1) == parts
    assert len(divide(plan, 1000, 1)) <= len(plan.todo)


def test_tasks_that_slurm_still_shows_after_their_end_do_not_run(tmp_path, monkeypatch):
    shown = "0 COMPLETED (None)\n1 RUNNING (None)\n2 PENDING (Priority)\n3 TIMEOUT (TimeLimit)\n4 CANCELLED (None)"
    (tmp_path / "squeue").write_text(f"#!/bin/sh\ncat <<END\n{shown}\nEND\n")
    (tmp_path / "squeue").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (tmp_path / "array").write_text("7")
    assert states(ShardJob(tmp_path, "", {}, "cpu", 1, ((),) * 5)) == [
        "ended", "RUNNING", "PENDING (Priority)", "ended", "ended",
    ]  # fmt: skip


@pytest.mark.slurm
@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_real_slurm_runs_a_suite_whose_task_is_cancelled(suite_file, store, tmp_path, bench, monkeypatch):
    path = suite_file(learner=[{"name": "slow"}, {"name": "linear-ridge"}], replicates=5)
    with cluster() as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        refused = bench("submit", path, "--shards", "2", "--store", store, "--sbatch", "--partition=none")
        assert refused.returncode != 0
        assert "invalid partition" in refused.stderr.lower()
        sent = bench("submit", path, "--shards", "3", "--store", store, "--sbatch", "--time=10")
        assert sent.returncode == 0, sent.stderr
        job = next(job for job in sharded_runs(store) if job.array)
        wait_until(lambda: any((job.store(k) / "results.sqlite").exists() for k in range(3)))
        subprocess.run(["scancel", f"{job.array}_1"], check=True)
        wait_until(lambda: not subprocess.run(["squeue", "-h"], capture_output=True, check=True).stdout)
        assert "shards that have not ended: 0 of 3" in bench("collect", "--store", store).stdout
        again = bench("submit", path, "--shards", "2", "--local", "--store", store)
        assert again.returncode == 0, again.stderr
    run_suite(path, RunOptions(store=tmp_path / "one", jobs=1, executor="serial"))
    assert rows_of(path, store) == rows_of(path, tmp_path / "one")


def test_shards_get_the_cells_that_fail_while_they_are_planned(faulty, suite_file, tmp_path, cli):
    options = {"where": "batch_key", "what": "list"}
    path = suite_file(learner=[{"name": "answering", "options": options}, {"name": "mean"}])
    cli("submit", path, "--store", tmp_path / "store", "--local", "--shards", "2")
    cli("collect", "--store", tmp_path / "store")
    statuses = {(row.label, row.n): row.status for row in read_results(path, store=tmp_path / "store")}
    assert statuses.pop(("answering", 20)) == "failed"
    assert statuses == {("answering", 10): "ok", ("mean", 10): "ok", ("mean", 20): "ok"}
