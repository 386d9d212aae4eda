"""Starts and stops a local MLflow server for the runs and reports of a store."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bfc_bench.errors import TrackingError, UsageError
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.database import artifact_root, database_uri
from bfc_bench.utils.files import make_folder

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End the server and all its processes, by SIGKILL after 5 seconds."""
        for signum in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signum)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=5)


@contextmanager
def serve(store_dir: Path, port: int = 0, timeout: float = 120.0) -> Iterator[Server]:
    """Run a server on the loopback interface; its output goes to ``mlflow-server.log`` in the store."""
    port = _free_port(port)
    make_folder(store_dir, private=True)
    with connection(database_uri(store_dir)):  # creates it: two servers at once would break it
        pass
    log = store_dir / "mlflow-server.log"
    # Without the artifact proxy, artifacts have the same URIs through the server and through the database.
    command = [sys.executable, "-m", "mlflow", "server", "--no-serve-artifacts", "--workers=1"]
    command += [f"--host={HOST}", f"--port={port}", f"--backend-store-uri={database_uri(store_dir)}"]
    command += [f"--default-artifact-root={artifact_root(store_dir)}"]
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    with os.fdopen(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    server = Server(f"http://{HOST}:{port}", process)
    try:
        _wait_until_healthy(server, timeout, log)
        yield server
    finally:
        server.stop()


def _free_port(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UsageError(f"ui: port {port} cannot be used: {error.strerror}. Choose another with --port.") from None
        return int(probe.getsockname()[1])


def _wait_until_healthy(server: Server, timeout: float, log: Path) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and server.process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(f"{server.url}/health", timeout=5):
            return
        time.sleep(0.2)
    state = "did not answer in time" if server.process.poll() is None else f"ended with {server.process.returncode}"
    tail = " | ".join(log.read_text(errors="replace").splitlines()[-3:])
    raise TrackingError(f"ui: the MLflow server {state}. {log} ends: {tail}")
