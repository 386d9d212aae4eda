"""Logs what a store says about a suite: curves, theories and the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bfc_bench.extras.mlflow.client import default_uri
from bfc_bench.extras.mlflow.report_run import log_report
from bfc_bench.extras.mlflow.sync import SyncReport, sync
from bfc_bench.extras.mlflow.sync_cache import note_state, unchanged_curves
from bfc_bench.extras.mlflow.theory import log_theories
from bfc_bench.report.run_description import ill_behaved_note, note
from bfc_bench.report.source_key import key_of
from bfc_bench.report.tables import problem_table, summary_table
from bfc_bench.run.provenance import git_commit
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import StoredSuite


def sync_suite(stored: StoredSuite, uri: str | None = None) -> SyncReport:
    """Log the rows that MLflow lacks, and the report if there is one. Raises ``TrackingError``.

    ``uri`` is by default ``MLFLOW_TRACKING_URI``, else the store's own database. If neither its database nor the store
    has changed since the last sync, MLflow is not imported.
    """
    directory, page = stored.store.directory, stored.directory / "report.html"
    uri, suite, version = default_uri(directory, uri), stored.name, stored.version
    times = stored.store.finish_times(suite, version)
    if page.exists() and not stored.reported:
        stored.report()
    elif (curves := unchanged_curves(directory, uri, suite, version, times, key_of(stored.directory))) is not None:
        return SyncReport(curves=curves, unchanged=curves)
    rows = stored.rows()
    report = sync(rows, uri, suite=suite, version=version, store_dir=directory, git=git_commit(Path.cwd()))
    _log_theories(stored, rows, uri)
    if page.exists():
        log_report_of(stored, uri)
    note_state(directory, uri, suite, version, times, key_of(stored.directory), report.curves)
    return report


def log_report_of(stored: StoredSuite, uri: str | None = None) -> None:
    """Log the report in the store and the theories, once per content. Raises ``TrackingError``."""
    rows, session = stored.columns(), stored.sessions[-1]
    uri = default_uri(stored.store.directory, uri)
    _log_theories(stored, rows, uri)
    verdicts = stored.claims()
    text = f"Report of {stored.name}@{stored.version}: {len(rows)} cells. Open `report.html` under Artifacts."
    log_report(
        uri,
        stored.name,
        stored.version,
        stored.directory,
        session=session["id"],
        tables={
            "claims": [verdict.as_dict() for verdict in verdicts],
            "summary": summary_table(rows, stored.levels),
            "theory": [expected.as_dict() for expected in stored.theory()],
            "failures": problem_table(rows),
        },
        note=note(f"{text}{ill_behaved_note(stored.thresholds())}", verdicts),
        store_dir=stored.store.directory,
        git=session["provenance"].get("git"),
    )


def _log_theories(stored: StoredSuite, rows: Sequence[Row], uri: str) -> None:
    directory = stored.store.directory
    log_theories(rows, uri, stored.theories, suite=stored.name, version=stored.version, store_dir=directory)
