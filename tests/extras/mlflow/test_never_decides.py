"""Whatever MLflow does, rows, exit code and report are those of a run without it, and ``sync`` makes up for it."""

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from stored_rows import read_results

from bfc_bench import open_store
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.curves import metrics
from bfc_bench.extras.mlflow.database import database_uri, make_database
from bfc_bench.extras.mlflow.sync import sync

# SQLAlchemy about MLflow's own queries.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")


@pytest.fixture
def silent():
    """A server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


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


def test_a_report_that_cannot_be_uploaded_is_a_warning(command, store_dir, free_port, bench):
    artifacts_at(store_dir, f"http://127.0.0.1:{free_port}")
    ran = bench(*command)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("warning: ") == 1
    assert "bfc-bench sync tiny" in ran.stdout
    assert len(read_results(command[1], store=store_dir)) == 2
    assert reported(store_dir)


def test_an_upload_that_hangs_does_not_hold_the_run(command, store_dir, silent, bench):
    artifacts_at(store_dir, silent)
    code = (
        "import threading, time\nfrom bfc_bench.cli import main\n"
        "from bfc_bench.extras.mlflow.live import MlflowTracker\n"
        "MlflowTracker.__init__.__kwdefaults__['patience'] = 20.0\nmain()"
    )
    patient = os.environ | {"MLFLOW_HTTP_REQUEST_TIMEOUT": "600"}
    started = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=patient,
        timeout=300,
    )
    assert time.monotonic() - started < 120
    assert (ran.returncode, ran.stdout.count("warning: ")) == (0, 1), ran.stdout + ran.stderr
    assert "not up to date 20 s after the end of the run" in ran.stdout
    assert reported(store_dir)


def test_a_database_killed_in_its_first_migration_is_made_again(rows, tmp_path):
    started = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import sys; from mlflow import MlflowClient; MlflowClient(sys.argv[1]).search_experiments()",
            database_uri(tmp_path),
        ],
        stderr=subprocess.DEVNULL,
    )
    file = tmp_path / "mlflow.db"
    deadline = time.monotonic() + 120
    while not (file.exists() and file.stat().st_size):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert sync(rows, database_uri(tmp_path), suite="toy", version=1, store_dir=tmp_path).created == 18
    assert {path.name for path in tmp_path.iterdir()} == {"mlflow.db", "mlflow-synced.json"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_database_that_holds_runs_is_left_as_it_is(up_to_date_database):
    before = up_to_date_database.read_bytes()
    with closing(sqlite3.connect(up_to_date_database)) as locked:
        locked.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            make_database(up_to_date_database)
    with closing(sqlite3.connect(up_to_date_database)) as older:
        older.execute("UPDATE alembic_version SET version_num = 'of-another-release'")
        older.commit()
    make_database(up_to_date_database)
    with closing(sqlite3.connect(up_to_date_database)) as kept:
        assert kept.execute("SELECT count(*) FROM runs").fetchone() == (18,)
    assert len(before) == up_to_date_database.stat().st_size


@pytest.fixture
def up_to_date_database(rows, store_dir):
    sync(rows, database_uri(store_dir), suite="toy", version=1, store_dir=store_dir)
    return store_dir / "mlflow.db"


@pytest.mark.parametrize("stage", ["a/../b", "/a", "a//b", "..", "a/", "./a", "é=😀\n", "x" * 400])
def test_names_that_mlflow_takes_for_paths_elsewhere_are_escaped(stage, row, store_dir, contents):
    made = row("net", stages={stage: {"nmse": 0.5}}, metrics={}, options={stage: 1, "": 2})
    for _ in range(2):
        report = sync([made], database_uri(store_dir), suite="toy", version=1, store_dir=store_dir)
    assert report.unchanged == 1
    assert set(metrics(made)) <= {key for _, _, key in contents(database_uri(store_dir))["history"]}
