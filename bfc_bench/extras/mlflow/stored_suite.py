"""Logs what a store says about a suite: curves, theories and the report."""

from __future__ import annotations

from bfc_bench.extras.mlflow.client import connection, default_uri, ensure_experiment
from bfc_bench.extras.mlflow.report_run import log_report, note
from bfc_bench.extras.mlflow.sync import SyncReport, sync
from bfc_bench.report.source_key import key_of
from bfc_bench.report.tables import problem_table, summary_table
from bfc_bench.stored_suite import StoredSuite


def sync_suite(stored: StoredSuite, uri: str | None = None) -> SyncReport:
    """Log the rows that MLflow lacks, and the report if there is one. Raises ``TrackingError``.

    ``uri`` is by default ``MLFLOW_TRACKING_URI``, else the store's own database.
    """
    uri = default_uri(stored.store.directory, uri)
    report = sync(stored.rows(), uri, stored.store.directory, theories=stored.theories)
    if (stored.directory / "report.html").exists():
        if not stored.reported:
            stored.report()
        _log_report(stored, uri)
    return report


def _log_report(stored: StoredSuite, uri: str) -> None:
    """Log the report in the store, once per content."""
    rows, session, verdicts = stored.columns(), stored.sessions[-1], stored.claims()
    text = f"Report of {stored.name}@{stored.version}: {len(rows)} cells. Open `report.html` under Artifacts."
    with connection(uri) as client:
        log_report(
            client,
            ensure_experiment(client, uri, stored.name, stored.version, stored.store.directory),
            stored.directory,
            tags={
                "bfc.session": session["id"],
                "bfc.content": key_of(stored.directory),
                "bfc.version": str(stored.version),
                "bfc.git": session["provenance"].get("git") or "",
            },
            tables={
                "claims": [verdict.as_dict() for verdict in verdicts],
                "summary": summary_table(rows, stored.levels),
                "theory": [expected.as_dict() for expected in stored.theory()],
                "failures": problem_table(rows),
            },
            note=note(text, verdicts),
        )
