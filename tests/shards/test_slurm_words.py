"""What SLURM is told and what it says, without one; test_cluster.py has a real one."""

import json
import os
import stat
from dataclasses import asdict, replace

import pytest

from bfc_bench.cli.app import run
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.shards import slurm
from bfc_bench.shards.heartbeat import Heartbeat
from bfc_bench.shards.job import SlurmArray, jobs
from bfc_bench.shards.partition import divide
from bfc_bench.shards.states import states
from bfc_bench.suite.model import Suite

pytestmark = pytest.mark.usefixtures("faulty")


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """SLURM's commands that say what they are told, ``commands(squeue="1 0 RUNNING")``; after a ``!`` an error."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(**says):
        for name, text in says.items():
            out, code = (" >&2", 1) if text.startswith("!") else ("", 0)
            (folder / name).write_text(f"#!/bin/sh\ncat{out} <<'E'\n{text.removeprefix('!')}\nE\nexit {code}\n")
            (folder / name).chmod(stat.S_IRWXU)

    return make


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("1:30", 90), ("4:00:00", 14400), ("1-12", 129600), ("1-12:30", 131400), ("2-0:0:5", 172805)],
)
def test_times_are_read_as_slurm_reads_them(text, seconds):
    assert slurm.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "4h", "1:2:3:4", "-1", "1-", "UNLIMITED x"])
def test_what_is_no_time_is_none(text):
    assert slurm.seconds(text) is None


@pytest.mark.parametrize(("shards", "largest"), [(1, 1001), (1001, 1001), (1002, 1001), (2500, 1000), (7, 2)])
def test_a_job_that_one_array_cannot_hold_is_several(shards, largest):
    arrays = slurm.split(shards, largest)
    assert len(arrays) == -(-shards // largest)
    assert max(count for _, count in arrays) <= largest
    assert [n for first, count in arrays for n in range(first, first + count)] == list(range(shards))


def test_parts_hold_every_cell_once_are_even_and_always_the_same(suite_file, submit):
    path = suite_file(learner=[{"name": "mean"}, {"name": "slow"}, {"name": "huge"}], replicates=30)
    plan = submit(path, shards=4).plan
    parts, seconds = divide(plan, 4, 1, {})
    cells = [cell for part in parts for cell in part.cells]
    assert len(cells) == len(set(cells)) == 180
    assert {cell.id for cell in cells} == {cell.id for cell in plan.grid.cells()}
    assert max(seconds) <= 4 / 3 * sum(seconds) / 4 + max(planned.seconds for planned in plan.batches(4))
    assert divide(plan, 4, 1, {}) == (parts, seconds)
    few, _ = divide(replace(plan, todo=plan.todo[:1], to_skip=[]), 4, 1, {})
    assert [len(part.cells) for part in few] == [1]


def test_a_cell_that_was_lost_is_a_batch_of_its_own(suite_file, submit):
    plan = submit(suite_file(learner=[{"name": "together", "options": {"how": "raise", "at": 99}}], replicates=2)).plan
    lost = {plan.todo[0].id: 1}
    assert [len(planned.batch.cells) for planned in plan.batches(1)] == [4]
    alone = replace(plan, grid=replace(plan.grid, alone=frozenset(lost)))
    assert sorted(len(planned.batch.cells) for planned in alone.batches(1)) == [1, 3]
    assert [part.lost for part in divide(plan, 1, 1, lost)[0]] == [lost]


def test_a_dry_run_prints_the_script_and_writes_nothing(suite_file, store, capsys):
    path = suite_file(learner=[{"name": "mean"}], budget={"cell_seconds": 60, "memory_gb": 2})
    asked = ["--partition", "long", "--time", "4:00:00", "--account", "us", "--cpus", "3"]
    asked += ["--sbatch", "--qos=low --mail-type END", "--device", "cuda"]
    assert run(["submit", str(path), "--shards", "2", "--dry-run", "--store", str(store), *asked]) == 0
    script = capsys.readouterr().out
    for line in (
        *("--partition=long", "--time=4:00:00", "--account=us", "--cpus-per-task=3", "--qos=low", "--mail-type END"),
        *("--signal=B:USR1@90", "--gres=gpu:1", "--mem=6676M", "--requeue"),
    ):
        assert f"#SBATCH {line}\n" in script
    assert script.splitlines()[-1].startswith("exec ")
    assert not store.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--time", "soon"], "--time must be a time as SLURM writes it"),
        (["--memory", "much"], "--memory must be a size such as 8G"),
        (["--memory", "2G"], "--memory must be at least"),
        (["--device", "auto"], "--device must be cpu or cuda"),
        (["--shards", "0"], "--shards"),
    ],
)
def test_what_makes_no_sense_is_said(arguments, said, suite_file, store, capsys):
    path = suite_file(learner=[{"name": "mean"}])
    assert run(["submit", str(path), "--shards", "2", "--store", str(store), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not store.exists()


def test_no_slurm_and_one_that_refuses_are_errors_and_leave_no_job(suite_file, store, capsys, commands, monkeypatch):
    path = suite_file(learner=[{"name": "mean"}])
    command = ["submit", str(path), "--shards", "2", "--store", str(store)]
    commands(scontrol="MaxArraySize = 1001", sbatch="!sbatch: error: invalid partition specified: nowhere")
    assert run(command) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "sbatch: invalid partition specified: nowhere. Give another --partition" in line
    assert jobs(store) == []
    monkeypatch.setenv("PATH", "/nowhere")
    assert run(command) == 1
    assert "scontrol is not installed. `submit --local`" in capsys.readouterr().err
    assert jobs(store) == []


def test_the_queue_tells_what_waits_runs_and_is_lost(suite_file, submit, commands):
    job = submit(suite_file(learner=[{"name": "mean"}, {"name": "slow"}], replicates=3), shards=5).job
    assert job.shards == 5
    job.note_arrays([SlurmArray("7", 0, 3), SlurmArray("9", 3, 2)])
    for said, where in {
        "": ["lost"] * 5,
        "7 0 RUNNING\n7 1 PENDING\n9 0 COMPLETING\n9 1 REQUEUED\n8 0 RUNNING": (
            ["running", "waiting", "lost", "running", "waiting"]
        ),
        "!slurm_load_jobs error: Invalid job id specified": ["lost"] * 5,
    }.items():
        commands(squeue=said)
        assert [state.where for state in states([job])] == where
    commands(squeue="!slurm_load_jobs error: Unable to contact slurm controller")
    with pytest.warns(UserWarning, match=r"Unable to contact slurm controller.*heartbeats alone"):
        assert [state.where for state in states([job])] == ["waiting"] * 5


WHY = {
    "7 0 PENDING (Resources)": "other jobs have the machines (Resources)",
    "7 0 PENDING Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "the machines that it may use are down, drained or reserved (Nodes required for job are DOWN, DRAINED or "
        "reserved for jobs in higher priority partitions)"
    ),
    "7 0 PENDING InvalidAccount": "the account is unknown: give another --account (InvalidAccount)",
    "7 0 PENDING AssocGrpCpuLimit": "a limit of the account or the QOS (AssocGrpCpuLimit)",
    "7 0 PENDING QOSMaxCpuPerUserLimit": "a limit of the account or the QOS (QOSMaxCpuPerUserLimit)",
    "7 0 PENDING Cleaning": "SLURM says Cleaning",
    "7 0 PENDING (None)": "",
    "7 0 RUNNING None": "",
    "7 0 CANCELLED None": "it was cancelled before it started",
    "7 0 NODE_FAIL None": "its machine failed",
    "7 0 OUT_OF_MEMORY OutOfMemory": "it was killed for its memory: give more --memory, or fewer --workers",
    "": "it ended before it started and has no log: it was cancelled, or its machine could not start it",
}


@pytest.mark.parametrize("said", WHY)
def test_a_shard_says_why_it_waits_or_is_lost(said, suite_file, submit, commands):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    job.note_arrays([SlurmArray("7", 0, 1)])
    commands(squeue=said)
    (state,) = states([job])
    assert state.why == WHY[said]


@pytest.mark.parametrize(
    ("logged", "why"),
    [
        ("slurmstepd-vm: error: StepId=1.batch exceeded memory limit (3 > 2), being killed", "killed for its memory"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch.", "killed for its memory"),
        ("slurmstepd: error: *** JOB 1 ON vm CANCELLED AT 2026-11-25 DUE TO TIME LIMIT ***", "SLURM's time limit"),
        ("a learner's words: exceeded memory limit", "ended without reporting it"),
    ],
)
@pytest.mark.parametrize("said", ["7 0 FAILED JobLaunchFailure", ""])
def test_what_slurm_writes_to_the_log_says_why_a_task_was_killed(said, logged, why, suite_file, submit, commands):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    job.note_arrays([SlurmArray("7", 0, 1)])
    commands(squeue=said)
    job.log(0).write_text(f"first\n{logged}\nslurmstepd: error: *** JOB 7 ON vm CANCELLED ***\n")
    job.file("heartbeats", 0).write_text(json.dumps(asdict(Heartbeat("running", "node7", 1, "", 0.0))))
    (state,) = states([job])
    assert why in state.why


def test_a_shard_that_did_not_start_shows_the_end_of_its_log(suite_file, submit, commands, store, capsys):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    job.note_arrays([SlurmArray("7", 0, 1)])
    commands(squeue="7 0 FAILED NonZeroExitCode")
    failed = "/x/script.sh: line 9: /venv/bin/python: No such file or directory"
    job.log(0).write_text(f"first\n\x1b[31m{failed}\n\n")
    (state,) = states([job])
    assert state.why == f"it did not start: \\x1b[31m{failed}"
    assert run(["status", "--store", str(store)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "it did not start" in said
    assert f"Logs: {job.folder / 'logs' / '7-0.txt'}" in said
    assert f"2 cells have no row. Next: bfc-bench submit tiny --shards K --store {store}" in said


def test_a_shard_whose_cells_another_run_has_made_lacks_nothing(suite_file, submit, commands, store, capsys):
    path = suite_file(learner=[{"name": "mean"}])
    job = submit(path, shards=1).job
    job.note_arrays([SlurmArray("7", 0, 1)])
    commands(squeue="7 0 PENDING (Resources)")
    assert run(["run", str(path), "--store", str(store), "--executor", "serial", "--no-mlflow"]) == 0
    assert f"Shards of {job.name} wait or run (1 of them; see bfc-bench status)." in capsys.readouterr().out
    commands(squeue="7 0 CANCELLED None")
    assert run(["status", "--store", str(store)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Nothing is missing: other runs have made the cells of these shards." in said
    assert "cells have no row" not in said


def test_an_array_too_large_is_submitted_as_several(suite_file, submit, commands):
    job = submit(suite_file(learner=[{"name": "mean"}, {"name": "slow"}], replicates=3), shards=5).job
    commands(scontrol="SlurmctldPort = 1\nMaxArraySize            = 2\n", sbatch="12;cluster")
    assert slurm.submit(job, job.folder / "script.sh") == job.arrays
    assert [(array.id, array.first, array.count) for array in job.arrays] == [("12", 0, 1), ("12", 1, 2), ("12", 3, 2)]


def test_the_definition_of_a_job_gives_its_cells_again(suite_file, submit):
    job = submit(suite_file(learner=[{"name": "mean"}]), shards=1).job
    grid = resolve(Suite.parse(job.suite, "s"), load_plugins(), "s")
    assert set(job.part(0).cells) == set(grid.cells())
