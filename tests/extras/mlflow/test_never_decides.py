"""Whatever MLflow does, rows, exit code and report are those of a run without it, and ``sync`` makes up for it."""

import os
import subprocess
import sys
import time

import pytest
from stored_rows import read_results
from waiting import completed

from bfc_bench import open_store
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.curves import metrics
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.sync import sync


@pytest.fixture
def command(faulty, suite_file, store_dir):
    return ["run", suite_file(learner=[{"name": "mean"}]), "--store", store_dir, "--executor", "serial"]


def artifacts_at(store_dir, address):
    """The suite's experiment, with another place for its artifacts."""
    with connection(database_uri(store_dir)) as client:
        client.create_experiment("bfc/tiny@1", f"{address}/api/2.0/mlflow-artifacts/artifacts")


def reported(store_dir):
    with open_store(store_dir) as held:
        return held["tiny@1"].reported


def test_a_report_that_cannot_be_uploaded_is_a_warning(command, store_dir, free_port, printed):
    artifacts_at(store_dir, f"http://127.0.0.1:{free_port}")
    said = printed(*command)
    assert said.count("warning: ") == 1
    assert "bfc-bench sync tiny" in said
    assert len(read_results(command[1], store=store_dir)) == 2
    assert reported(store_dir)


def test_an_upload_that_hangs_does_not_hold_the_run(command, store_dir, silent):
    artifacts_at(store_dir, silent)
    code = (
        "import threading, time\nfrom bfc_bench.cli import main\n"
        "from bfc_bench.extras.mlflow import live\n"
        "live.PATIENCE = 3.0\nmain()"
    )
    patient = os.environ | {"MLFLOW_HTTP_REQUEST_TIMEOUT": "600"}
    started = time.monotonic()
    ran = completed([sys.executable, "-c", code, *map(str, command)], env=patient, timeout=300)
    assert time.monotonic() - started < 120
    assert (ran.returncode, ran.stdout.count("warning: ")) == (0, 1), ran.stdout + ran.stderr
    assert "not up to date 3 s after the end of the run" in ran.stdout
    assert reported(store_dir)


@pytest.mark.slow
def test_processes_that_log_to_a_new_database_at_once_make_it_once(rows, tmp_path):
    code = (
        "import sys\nfrom bfc_bench.extras.mlflow.client import connection\n"
        "with connection(sys.argv[1]) as client:\n    client.search_experiments()"
    )
    command = [sys.executable, "-c", code, database_uri(tmp_path)]
    for process in [subprocess.Popen(command) for _ in range(2)]:
        assert process.wait() == 0
    assert sync(rows, database_uri(tmp_path), tmp_path).created == 12
    assert {path.name for path in tmp_path.iterdir()} == {"mlflow.db", "mlflow-synced.json"}
    assert (tmp_path / "mlflow.db").stat().st_mode & 0o777 == 0o600


def test_names_that_mlflow_takes_for_paths_elsewhere_are_escaped(row, store_dir, uri, contents):
    names = ("a/../b", "/a", "a//b", "..", "a/", "./a", "é=😀\n", "x" * 400)
    stages = {name: {"nmse": 0.5} for name in names}
    made = row("net", stages=stages, metrics={}, options={**dict.fromkeys(names, 1), "": 2})
    for _ in range(2):
        report = sync([made], uri, store_dir)
    assert report.unchanged == 1
    assert set(metrics(made)) <= {key for _, _, key in contents(uri)["history"]}
