"""Logs the report of a session as one MLflow run, with tables, figures, HTML and rows as artifacts."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfc_bench.extras.mlflow.client import NOTE, connection, ensure_experiment
from bfc_bench.extras.mlflow.owner import remove
from bfc_bench.extras.mlflow.sync import find_runs
from bfc_bench.utils.plain_json import digest


def log_report(
    uri: str,
    suite: str,
    version: int,
    directory: Path,
    *,
    session: str,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    note: str = "",
    store_dir: Path | None = None,
    git: str | None = None,
) -> str:
    """Log a session's report and return the id of its run.

    An identical report is not logged again; a changed one replaces the session's earlier run.
    """
    tables = {name: records for name, records in (tables or {}).items() if records}
    content = digest([_files(directory), json.dumps(tables, default=str), note], 16)
    with connection(uri) as client:
        experiment = ensure_experiment(client, uri, suite, version, store_dir)
        for run in find_runs(client, experiment, {"bfc.kind": "report", "bfc.session": session}):
            if run.data.tags.get("bfc.content") == content and run.info.status == "FINISHED":
                return str(run.info.run_id)
            remove(client, run)
        tags = {"bfc.kind": "report", "bfc.session": session, "bfc.content": content, "bfc.version": str(version)}
        tags |= {NOTE: note} if note else {}
        tags |= {"bfc.git": git} if git else {}
        run_id = str(client.create_run(experiment, tags=tags, run_name=f"report · {session}").info.run_id)
        client.log_artifacts(run_id, str(directory))
        for name, records in tables.items():
            with warnings.catch_warnings():
                # MLflow writes tables through calls that pandas 3 deprecates.
                warnings.simplefilter("ignore", DeprecationWarning)
                client.log_table(run_id, _columns(records), f"tables/{name}.json")
        client.set_terminated(run_id)
    return run_id


def _files(directory: Path) -> dict[str, str]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.blake2b(path.read_bytes()).hexdigest() for path in files}


def _columns(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names}
