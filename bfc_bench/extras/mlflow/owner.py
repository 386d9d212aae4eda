"""Whose run of a curve is: each store changes its own runs only, since a team's server has many writers.

A store is known by a random id, which lies in its folder and in the tag ``bfc.store`` of its runs.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bfc_bench.utils.files import make_folder, write_file

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

RETIRED = "retired"
"""Value of the tag ``bfc.kind`` for runs that are no longer current; saved views show only ``curve``."""
STORE, OWNER, POINTS = "bfc.store", "bfc.owner", "bfc.points"


def user_name() -> str:
    """The user of the server, or of this machine, for readers of the tag ``bfc.owner``."""
    return os.environ.get("MLFLOW_TRACKING_USERNAME") or os.environ.get("USER", "")


def store_id(store_dir: Path) -> str:
    """The store's id in MLflow, which the first sync makes at random. Raises ``OutputError``."""
    file = store_dir / "mlflow-synced.json"
    if not file.exists():
        make_folder(store_dir, private=True)
        write_file(file, json.dumps({"store": secrets.token_hex(8)}).encode(), private=True)
    return str(json.loads(file.read_text())["store"])


def points(run: Run) -> Mapping[str, str]:
    """Hashes of the values of a run by n."""
    return dict(json.loads(run.data.tags.get(POINTS, "{}")))


def remove(client: MlflowClient, run: Run) -> None:
    """Delete one's own run, or hide it from the saved views where this user may not delete."""
    from mlflow.exceptions import MlflowException

    try:
        client.delete_run(run.info.run_id)
    except MlflowException as error:
        if error.error_code != "PERMISSION_DENIED":
            raise
        client.set_tag(run.info.run_id, "bfc.kind", RETIRED)
