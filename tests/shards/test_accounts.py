"""Shards on a real SLURM that enforces accounts and QOS: what it refuses, and why it lets shards wait."""

import getpass
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_cluster import wait_for

from bfc_bench.shards.job import jobs

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks.faults.cluster import cluster, missing  # noqa: E402

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing(accounting=True)), reason=missing(accounting=True)),
    pytest.mark.usefixtures("faulty"),
]
USER = getpass.getuser()


@pytest.fixture(scope="module")
def accounts():
    """SLURM's commands on the path; the QOS ``tight`` lets a user run one job and submit three."""
    before = dict(os.environ)
    with cluster(accounting=True) as environment:
        os.environ.update(environment)
        change("add", "qos", "tight", "set", "MaxJobsPerUser=1", "MaxSubmitJobsPerUser=3")
        change("modify", "user", USER, "set", "qos+=tight", "DefaultAccount=lab")
        yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def store(tmp_path, accounts):
    yield tmp_path / "store"
    subprocess.run(["scancel", "--full", f"--user={os.getuid()}"], check=False)
    wait_for(lambda: not subprocess.run(["squeue", "-h"], capture_output=True, check=True).stdout)


def change(*words):
    subprocess.run(["sacctmgr", "-i", *words], check=True, capture_output=True)
    time.sleep(1)  # slurmdbd tells slurmctld


@pytest.fixture
def path(suite_file):
    return suite_file(learner=[{"name": "slow", "options": {"seconds": 0.3}}], replicates=10)


@pytest.mark.parametrize(
    ("shards", "options", "reasons"),
    [
        (2, ["--account", "nowhere"], ["Invalid account", "Give another --account"]),
        (2, ["--sbatch", "--qos=nowhere"], ["Invalid qos specification", "Give another --sbatch --qos=NAME"]),
        (4, ["--sbatch", "--qos=tight"], ["QOSMaxSubmitJobPerUserLimit", "Use fewer --shards"]),
    ],
)
def test_what_slurm_refuses_ends_submit_in_a_line_and_leaves_no_job(shards, options, reasons, path, bench, store):
    ran = bench("submit", path, "--shards", shards, "--store", store, *options)
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert all(reason in line for reason in reasons)
    assert jobs(store) == []


def test_a_shard_that_takes_too_much_memory_says_so(path, bench, store):
    assert bench("submit", path, "--shards", 1, "--store", store, "--sbatch", "--mem=40M").returncode == 0

    def lost():
        (shard,) = json.loads(bench("status", "--store", store, "--format", "json").stdout)
        return shard if shard["state"] == "lost" else None

    assert "it was killed for its memory: give more --memory" in wait_for(lost)["why"]


@pytest.mark.parametrize(
    ("limit", "options", "reason"),
    [
        ("", ["--sbatch", "--qos=tight"], "the QOS lets a user run no more jobs at once (QOSMaxJobsPerUserLimit)"),
        ("MaxJobs=1", ["--account", "lab"], "the account may not run more jobs at once (AssocMaxJobsLimit)"),
    ],
)
def test_a_shard_says_which_limit_it_waits_for(limit, options, reason, path, bench, store):
    def shards():
        return json.loads(bench("status", "--store", store, "--format", "json").stdout)

    if limit:
        change("modify", "user", USER, "where", "account=lab", "set", limit)
    try:
        assert bench("submit", path, "--shards", 2, "--store", store, *options).returncode == 0
        wait_for(lambda: [s["state"] for s in shards()] == ["running", "waiting"] and shards()[1]["why"] == reason)
        wait_for(lambda: [s["state"] for s in shards()] == ["done", "done"])
    finally:
        if limit:
            change("modify", "user", USER, "where", "account=lab", "set", "MaxJobs=-1")
