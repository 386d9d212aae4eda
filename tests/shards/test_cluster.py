"""Shards on a real SLURM of one node: whatever becomes of a task, every cell ends once."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stored_rows import judge_claims, read_results

from bfc_bench.shards import slurm as slurm_words
from bfc_bench.shards.heartbeat import Heartbeat
from bfc_bench.shards.job import jobs
from bfc_bench.shards.journal import entries
from bfc_bench.store.row import measured

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks.faults.cluster import cluster, missing  # noqa: E402

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.usefixtures("faulty"),
]


@pytest.fixture(scope="module")
def slurm():
    """SLURM's commands on the path, and the cluster that they talk to."""
    before = dict(os.environ)
    with cluster() as environment:
        os.environ.update(environment)
        yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def store(tmp_path, slurm):
    yield tmp_path / "store"
    subprocess.run(["scancel", "--full", f"--user={os.getuid()}"], check=False)
    wait_for(lambda: not said("squeue", "-h"))


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.3)
    return found


@pytest.fixture
def submit(bench, store):
    def submit(suite, shards, *arguments):
        ran = bench("submit", suite, "--shards", shards, "--store", store, *arguments)
        assert ran.returncode == 0, ran.stderr
        return jobs(store)[-1]

    return submit


@pytest.fixture
def status(bench, store):
    def status():
        return json.loads(bench("status", "--store", store, "--format", "json").stdout)

    return status


@pytest.fixture
def ended(status):
    """Waits until no shard waits or runs, and tells where they are."""

    def ended():
        def where():
            found = [shard["state"] for shard in status()]
            return None if {"waiting", "running"} & set(found) else found

        return wait_for(where)

    return ended


@pytest.fixture
def finish(bench, submit, store, ended):
    """Submits what is left until there is nothing, and checks that every cell has ended once, and well."""

    def finish(path, cells):
        for _ in range(3):
            ended()
            if "nothing to do" in bench("submit", path, "--shards", 2, "--store", store).stdout:
                break
        rows = read_results(path, store=store)
        assert {row.status for row in rows} == {"ok"}
        assert len(rows) == len({(row.label, row.n, row.replicate) for row in rows}) == cells

    return finish


def task(job, number=0):
    """SLURM's name of a shard."""
    return f"{job.arrays[0].id}_{number}"


def running(job, number=0):
    """The heartbeat of a shard that has a row and runs."""
    heartbeat = Heartbeat.read(job.file("heartbeats", number))
    made = any(entries(job.file("journals", number)))
    return heartbeat if made and heartbeat is not None and heartbeat.said == "running" else None


def slow(suite_file, seconds=0.5, replicates=20):
    return suite_file(learner=[{"name": "slow", "options": {"seconds": seconds}}], replicates=replicates)


def test_a_whole_suite_by_shards_is_that_of_one_run_bit_for_bit_and_in_its_verdicts(
    submit, ended, store, tmp_path, bench, status
):
    assert bench("run", "smoke", "--store", tmp_path / "one", "--no-mlflow", "--jobs", 2, timeout=600).returncode == 0
    job = submit("smoke", 3, "--time", "20", "--partition", "all")
    assert ended() == ["done"] * 3
    assert sum(shard["rows"] for shard in status()) == 180
    collected = bench("collect", "--store", store)
    assert f"{job.name}: 180 new rows, 180 of 180 cells have one" in collected.stdout
    by_cell = [
        {row.cell: measured(row.as_dict()) for row in read_results("smoke", store=folder)}
        for folder in (store, tmp_path / "one")
    ]
    assert by_cell[0] == by_cell[1]
    verdicts = [[(v.id, v.verdict, v.words) for v in judge_claims("smoke", store=s)] for s in (store, tmp_path / "one")]
    assert verdicts[0] == verdicts[1]
    assert len(verdicts[0]) > 0


def test_a_job_that_waits_runs_and_is_done_is_shown_as_such(suite_file, submit, ended, status):
    said("scontrol", "update", f"NodeName={node()}", "State=DRAIN", "Reason=test")
    job = submit(slow(suite_file), 2)
    time.sleep(5)
    assert [shard["state"] for shard in status()] == ["waiting", "waiting"]
    assert all("down, drained or reserved" in shard["why"] for shard in status())
    said("scontrol", "update", f"NodeName={node()}", "State=RESUME")
    wait_for(lambda: running(job, 0) and running(job, 1))
    shown = status()
    assert [shard["state"] for shard in shown] == ["running", "running"]
    assert all("slow on t" in shard["runs"] for shard in shown)
    assert ended() == ["done", "done"]


def test_a_node_that_is_drained_while_shards_run_lets_them_end(suite_file, submit, ended, finish):
    path = slow(suite_file)
    job = submit(path, 1)
    wait_for(lambda: running(job))
    said("scontrol", "update", f"NodeName={node()}", "State=DRAIN", "Reason=test")
    assert ended() == ["done"]
    said("scontrol", "update", f"NodeName={node()}", "State=RESUME")
    finish(path, 40)


def node():
    return said("sinfo", "-h", "-N", "-o", "%N").split()[0]


def test_a_node_that_fails_while_a_shard_runs_costs_no_row(suite_file, submit, ended, finish, status):
    path = slow(suite_file)
    job = submit(path, 1)
    wait_for(lambda: running(job))
    made = {row.cell for row, *_ in entries(job.file("journals", 0))}
    said("scontrol", "update", f"NodeName={node()}", "State=DOWN", "Reason=test")
    wait_for(lambda: [shard for shard in status() if shard["state"] == "waiting" and shard["why"]])
    for change in ((f"NodeName={node()}", "State=RESUME"), (f"JobId={task(job)}", "StartTime=now")):
        subprocess.run(["scontrol", "update", *change], check=False)  # the node may have come back by itself
    assert ended() == ["done"]
    assert made <= {row.cell for row, *_ in entries(job.file("journals", 0))}
    finish(path, 40)


def test_a_task_that_is_killed_is_lost_and_its_cells_are_made_by_the_next(suite_file, submit, ended, finish, status):
    path = slow(suite_file)
    job = submit(path, 2)
    heartbeat = wait_for(lambda: running(job, 0))
    os.kill(heartbeat.process, signal.SIGKILL)
    assert ended() == ["lost", "done"]
    assert status()[0]["why"] == f"it ended without reporting it on {heartbeat.host}"
    finish(path, 40)


def test_a_task_that_is_cancelled_gives_back_what_it_ran(suite_file, submit, ended, finish):
    path = slow(suite_file)
    job = submit(path, 2)
    wait_for(lambda: running(job, 1))
    said("scancel", task(job, 1))
    assert ended() == ["done", "stopped"]
    finish(path, 40)


def test_tasks_that_are_cancelled_before_they_begin_are_lost_and_nobodys_fault(
    suite_file, submit, ended, finish, store, status
):
    said("scontrol", "update", f"NodeName={node()}", "State=DRAIN", "Reason=test")
    path = slow(suite_file, 0.1, 5)
    job = submit(path, 2)
    said("scancel", job.arrays[0].id)
    assert ended() == ["lost", "lost"]
    assert [shard["why"] for shard in status()] == ["it was cancelled before it started"] * 2
    said("scontrol", "update", f"NodeName={node()}", "State=RESUME")
    finish(path, 10)
    assert [jobs(store)[1].part(number).lost for number in range(2)] == [{}, {}]


def test_a_python_that_the_machine_lacks_is_named_with_its_log(suite_file, submit, ended, finish, status, bench, store):
    said("scontrol", "update", f"NodeName={node()}", "State=DRAIN", "Reason=test")
    path = slow(suite_file, 0.1, 5)
    job = submit(path, 1)
    said("scancel", job.arrays[0].id)  # it is sent again, with a Python that is not there
    script = job.folder / "script.sh"
    script.write_text(script.read_text().replace(sys.executable, "/no/venv/bin/python"))
    said("scontrol", "update", f"NodeName={node()}", "State=RESUME")
    slurm_words.submit(job, script)
    assert ended() == ["lost"]
    (shard,) = status()
    assert "it did not start:" in shard["why"]
    assert "/no/venv/bin/python" in shard["why"]
    assert Path(shard["log"]).read_text().strip()
    assert shard["log"] in bench("status", "--store", store).stdout
    finish(path, 10)


def test_a_task_past_its_time_stops_before_it_is_killed(suite_file, submit, ended, finish):
    path = slow(suite_file, 4, 12)  # 96 s, and a signal after 30 s at the latest
    job = submit(path, 1, "--time", "2")
    assert ended() == ["stopped"]
    made = len(list(entries(job.file("journals", 0))))
    assert 0 <= made < 24
    finish(path, 24)


def test_a_task_that_is_requeued_goes_on_where_it_was(suite_file, submit, ended, finish):
    path = slow(suite_file)
    job = submit(path, 1)
    before = wait_for(lambda: running(job))
    made = {row.cell for row, *_ in entries(job.file("journals", 0))}
    said("scontrol", "requeue", task(job))
    wait_for(lambda: re.search("PENDING", said("squeue", "-h", "-r", "-o", "%T")))
    said("scontrol", "update", f"JobId={task(job)}", "StartTime=now")
    assert ended() == ["done"]
    after = Heartbeat.read(job.file("heartbeats", 0))
    assert (after.process, after.lost) != (before.process, None)
    rows = list(entries(job.file("journals", 0)))
    assert made <= {row.cell for row, *_ in rows}
    assert len(rows) == len(job.file("journals", 0).read_text().splitlines()) == 40
    finish(path, 40)


def test_more_shards_than_an_array_may_have_are_two_arrays(suite_file, bench, store, ended, finish):
    path = suite_file(learner=[{"name": "mean"}], replicates=13)
    ran = bench("submit", path, "--shards", 13, "--store", store)
    assert "2 arrays, because of the size limit of one" in ran.stdout
    (job,) = jobs(store)
    assert [(array.first, array.count) for array in job.arrays] == [(0, 6), (6, 7)]
    assert ended() == ["done"] * 13
    finish(path, 26)


def test_a_partition_that_is_none_is_said_and_leaves_no_job(suite_file, bench, store):
    ran = bench("submit", slow(suite_file), "--shards", 2, "--store", store, "--partition", "nowhere")
    assert ran.returncode == 1
    assert "invalid partition specified: nowhere" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert jobs(store) == []


def test_a_controller_that_is_gone_leaves_what_the_heartbeats_say(
    suite_file, submit, bench, store, monkeypatch, tmp_path
):
    job = submit(slow(suite_file, 0.1), 1)
    wait_for(lambda: running(job))
    (tmp_path / "slurm.conf").write_text("ClusterName=none\nSlurmctldHost=vm(127.0.0.1)\nSlurmctldPort=1\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    shown = bench("status", "--store", store, timeout=200)
    monkeypatch.undo()
    assert "heartbeats alone" in shown.stderr
    assert "1 running" in shown.stdout or "1 done" in shown.stdout
