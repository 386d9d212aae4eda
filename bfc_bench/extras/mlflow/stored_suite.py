"""Logs what a store says about a suite: curves, theories, and the report of a session as a run of its own."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfc_bench.analysis.claims import Verdict, expected_errors
from bfc_bench.extras.mlflow.client import NOTE, connection, default_uri, ensure_experiment
from bfc_bench.extras.mlflow.owner import remove
from bfc_bench.extras.mlflow.sync import SyncReport, find_runs, sync
from bfc_bench.report.source_key import key_of
from bfc_bench.report.tables import number, problem_table, summary_table, with_interval
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


if TYPE_CHECKING:
    from mlflow import MlflowClient

CLAIMS = 20
"""Maximum number of claims in a description; MLflow refuses tags beyond 8,000 characters."""


def log_report(
    client: MlflowClient,
    experiment: str,
    directory: Path,
    *,
    tags: Mapping[str, str],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    note: str = "",
) -> str:
    """Log the report of the session ``tags["bfc.session"]`` and return the id of its run.

    A report with the same ``bfc.content`` is not logged again; another one replaces the session's earlier run.
    """
    session = {"bfc.kind": "report", "bfc.session": tags["bfc.session"]}
    for run in find_runs(client, experiment, session):
        if run.data.tags.get("bfc.content") == tags["bfc.content"] and run.info.status == "FINISHED":
            return str(run.info.run_id)
        remove(client, run)
    name = f"report · {tags['bfc.session']}"
    run_id = str(client.create_run(experiment, tags={**tags, **session, NOTE: note}, run_name=name).info.run_id)
    client.log_artifacts(run_id, str(directory))
    for table, records in tables.items():
        with warnings.catch_warnings():
            # MLflow writes tables through calls that pandas 3 deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            if records:
                client.log_table(run_id, _columns(records), f"tables/{table}.json")
    client.set_terminated(run_id)
    return run_id


def note(text: str, verdicts: Sequence[Verdict]) -> str:
    """The description of the run: the text, then a markdown table of the first claims."""
    if not verdicts:
        return text
    lines = [text, "", "| claim | verdict | estimate [95 %] | worst replicate | claimed |", "|---|---|---|---|---|"]
    for v in verdicts[:CLAIMS]:
        cells = (v.id, f"{v.sign} {v.words}", with_interval(v.estimate, v.lo, v.hi), number(v.worst), v.region)
        lines.append(f"| {' | '.join(cells)} |")
    more = [f"\n{len(verdicts) - CLAIMS} more in `tables/claims.json`."] * (len(verdicts) > CLAIMS)
    return "\n".join([*lines, *more, "", expected_errors(verdicts)])


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}
