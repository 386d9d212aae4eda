"""Becomes a local MLflow server for the runs and reports of a store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from bfc_bench.extras.mlflow.database import artifact_root, database_uri

HOST = "127.0.0.1"


def become_server(store_dir: Path, port: int) -> NoReturn:
    """Replace this process by a server on the loopback interface, which prints its own messages and ends with Ctrl-C.

    The database must be there: two servers that make it at once would break it.
    """
    # Without the artifact proxy, artifacts have the same URIs through the server and through the database.
    command = [sys.executable, "-m", "mlflow", "server", "--no-serve-artifacts", "--workers=1"]
    command += [f"--host={HOST}", f"--port={port}", f"--backend-store-uri={database_uri(store_dir)}"]
    command += [f"--default-artifact-root={artifact_root(store_dir)}", "--uvicorn-opts=--no-access-log"]
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)
