"""Synthetic rows without training, and a store with what MLflow holds."""

import math
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import numpy as np
import pytest
import synthetic
from waiting import wait_until

from bfc_bench.analysis.curves import curves
from bfc_bench.extras.mlflow.client import connection, ensure_experiment
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.sync import log_report
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store


@pytest.fixture(autouse=True, scope="module")
def runs_are_logged():
    """Runs of these tests log to MLflow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("BFC_BENCH_NO_MLFLOW")
        yield


SIZES = (100, 200, 400, 800)
LEARNERS = {"net": (1.5, 1.0), "kernel": (0.6, 2.0), "linear": (0.1, 1.0)}
"""Per learner: how fast its error falls with n, and how its N* grows with d."""


def make_row(learner, task="teacher", d=10, n=100, replicate=0, **changes):
    """One ok row; ``changes`` replace its fields."""
    decay, exponent = LEARNERS.get(learner, (1.0, 1.0))
    noise = np.random.default_rng([len(learner), d, n, replicate]).normal(0, 0.1)
    nmse = math.exp(-decay * math.log(n / (2 * d**exponent)) + noise)
    at = {"suite": "toy", "task": task, "learner": learner, "label": learner, "d": d, "n": n, "replicate": replicate}
    others = {
        "options": {"width": 8, "optimizer": {"lr": 0.01, "betas": [0.9, 0.99]}},
        "nmse": nmse,
        "nmse_trimmed": 0.9 * nmse,
        "train_nmse": 0.1 * nmse,
        "feature_errors": {"S2": 0.5 * nmse, "S3": 0.8 * nmse},
        "stages": {"layerwise": {"nmse": 2 * nmse, "nmse_trimmed": None, "feature_errors": {"S2": nmse}}},
        "fit_cpu_seconds": 0.001 * n,
        "finished_at": 1_700_000_000.0 + n + replicate / 8,
    }
    return synthetic.row(**{**at, **others, **changes})


@pytest.fixture
def row():
    return make_row


@pytest.fixture
def rows():
    """3 learners x 2 tasks x 4 sizes x 2 replicates at d = 10."""
    return [
        make_row(learner, task, 10, n, replicate)
        for learner in LEARNERS
        for task in ("teacher", "student")
        for n in SIZES
        for replicate in range(2)
    ]


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory):
    """MLflow's tables take seconds to create: once is enough."""
    directory = tmp_path_factory.mktemp("mlflow")
    with connection(database_uri(directory)) as client:
        client.search_experiments(max_results=1)
    return directory / "mlflow.db"


@pytest.fixture
def store_dir(tmp_path, empty_database):
    directory = tmp_path / "store"
    directory.mkdir()
    shutil.copy(empty_database, directory)
    return directory


@pytest.fixture
def uri(store_dir):
    """The address of the database in the store."""
    return database_uri(store_dir)


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def served(store_dir, free_port):
    """The address of what ``bfc-bench ui`` serves, and its process."""
    with Store(store_dir, write=True):
        pass
    command = [sys.executable, "-m", "bfc_bench", "ui", "--store", store_dir, "--port", str(free_port)]
    url = f"http://127.0.0.1:{free_port}"

    def answers():
        assert process.poll() is None
        try:
            return bool(urllib.request.urlopen(f"{url}/health", timeout=5))
        except OSError:
            return False

    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            wait_until(answers, 300)
            yield url, process
        finally:
            process.terminate()


@pytest.fixture
def silent():
    """A server that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def refusing():
    """Starts a server that answers with a status and quotes what it was asked; gives its HOST:PORT."""
    with ExitStack() as started:

        def start(status):
            class Refuses(BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_error(status, explain=self.requestline)

                do_POST = do_GET

                def log_message(self, *_):
                    pass

            server = started.enter_context(HTTPServer(("127.0.0.1", 0), Refuses))
            threading.Thread(target=server.serve_forever, daemon=True).start()
            started.callback(server.shutdown)
            return f"127.0.0.1:{server.server_port}"

        yield start


@pytest.fixture
def contents():
    """Reads everything that MLflow holds at a URI: the views, and per active run all that was ever logged to it."""

    def read(uri):
        with connection(uri) as client:
            experiment = client.get_experiment_by_name("bfc/toy@1")
            runs = client.search_runs([experiment.experiment_id], max_results=1000)
            history = [
                (run.info.run_name, metric.step, metric.key, metric.value)
                for run in runs
                for key in run.data.metrics
                for metric in client.get_metric_history(run.info.run_id, key)
            ]
        return {
            "tags": dict(experiment.tags),
            "all": list(runs),
            "runs": {run.info.run_name: run for run in runs},
            "history": {(name, step, key): value for name, step, key, value in history},
            "values": len(history),
        }

    return read


@pytest.fixture
def report_logged(store_dir, rows, monkeypatch):
    """Logs the report in a folder; gives the id of its run."""

    def log(uri, directory, session, content="c"):
        monkeypatch.setattr("bfc_bench.extras.mlflow.sync.key_of", lambda directory: content)
        sessions = [{"id": session, "provenance": {}}]
        stored = SimpleNamespace(
            name="toy",
            version=1,
            directory=directory,
            sessions=sessions,
            levels=[0.1],
            columns=lambda: Rows.of(rows),
            curves=lambda: curves(rows),
            claims=list,
            theory=list,
        )
        with connection(uri) as client:
            return log_report(client, ensure_experiment(client, uri, "toy", 1, store_dir), stored)

    return log
