"""Logs the report of a session as one MLflow run, with tables, figures, HTML and rows as artifacts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfc_bench.analysis.claims import Verdict, expected_errors
from bfc_bench.extras.mlflow.client import NOTE
from bfc_bench.extras.mlflow.owner import remove
from bfc_bench.extras.mlflow.sync import find_runs
from bfc_bench.report.tables import number, with_interval

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
