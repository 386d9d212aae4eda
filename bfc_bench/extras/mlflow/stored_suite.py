"""Logs what a store says about a suite: curves, theories, and the report of a session as a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bfc_bench.extras.mlflow.client import NOTE, connection, default_uri, ensure_experiment
from bfc_bench.extras.mlflow.sync import SyncReport, find_runs, remove, sync
from bfc_bench.report.source_key import key_of
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.utils.counted import counted

if TYPE_CHECKING:
    from mlflow import MlflowClient


def sync_suite(stored: StoredSuite, uri: str | None = None) -> SyncReport:
    """Log the rows that MLflow lacks, and the report if there is one.

    Raises ``TrackingError``, and ``UsageError`` for an address that MLflow cannot use. ``uri`` is by default
    ``MLFLOW_TRACKING_URI``, else the store's own database.
    """
    store = stored.store.directory
    uri = default_uri(store, uri)
    report = sync(stored.rows(), uri, store, theories=stored.theories)
    if (stored.directory / "report.html").exists():
        if not stored.reported:
            stored.report()
        with connection(uri) as client:
            log_report(client, ensure_experiment(client, uri, stored.name, stored.version, store), stored)
    return report


def log_report(client: MlflowClient, experiment: str, stored: StoredSuite) -> str:
    """Log the report in the store as a run for the last session, and return the id of the run.

    A report that is there with the same content is not logged again; another one replaces the session's earlier run.
    """
    session, content = stored.sessions[-1], key_of(stored.directory)
    identity = {"bfc.kind": "report", "bfc.session": session["id"]}
    for run in find_runs(client, experiment, identity):
        if run.data.tags.get("bfc.content") == content and run.info.status == "FINISHED":
            return str(run.info.run_id)
        remove(client, run)
    cells = counted(len(stored.columns()), "cell")
    tags = {
        **identity,
        "bfc.content": content,
        "bfc.version": str(stored.version),
        "bfc.git": session["provenance"].get("git") or "",
        NOTE: f"Report of {stored.name}@{stored.version}: {cells}. Open `report.html` under Artifacts.",
    }
    run_id = str(client.create_run(experiment, tags=tags, run_name=f"report · {session['id']}").info.run_id)
    client.log_artifacts(run_id, str(stored.directory))
    client.set_terminated(run_id)
    return run_id
