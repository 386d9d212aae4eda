"""Brings MLflow up to date with the rows and reports of a store; repeating it adds nothing.

Each store changes its own runs only, since a team's server has many writers. A store is known by a random id, which
lies in its folder and in the tag ``bfc.store`` of its runs.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bfc_bench.analysis.theory import Theories
from bfc_bench.extras.mlflow.client import NOTE, connection, default_uri, ensure_experiment
from bfc_bench.extras.mlflow.curves import ReplicateCurve, milliseconds, replicate_curves
from bfc_bench.extras.mlflow.replicate_summaries import BARS, SUMMARY, ReplicateSummary, Summaries, summaries
from bfc_bench.extras.mlflow.views import save_views
from bfc_bench.report.source_key import key_of
from bfc_bench.report.tables import problem_table, summary_table
from bfc_bench.store.artifacts import intact
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.utils.counted import counted
from bfc_bench.utils.files import make_folder, write_file

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

RETIRED = "retired"
"""Value of the tag ``bfc.kind`` for runs that are no longer current; saved views show only ``curve``."""
STORE, OWNER, POINTS = "bfc.store", "bfc.owner", "bfc.points"
METRICS_PER_BATCH = 800
PARAMS_PER_BATCH = 100
"""MLflow accepts 1,000 metrics, 100 parameters, 100 tags and 1,000 of all together in one request."""

Value = tuple[str, float, int, int]
"""Name, value, Unix milliseconds and step of a metric."""


@dataclass
class SyncReport:
    """Counts of what a sync logged."""

    curves: int = 0
    """Curves in the rows."""
    created: int = 0
    """New runs, including those that replace a run with withdrawn points."""
    unchanged: int = 0
    """Curves that were complete already."""
    points: int = 0
    """Logged metric values."""
    retired: int = 0
    """Runs of former options that this sync removed from the saved views."""

    def __str__(self) -> str:
        """One line for the terminal."""
        text = f"{counted(self.curves, 'curve')}: {self.created} new, {self.unchanged} unchanged"
        text += f", {counted(self.points, 'value')} logged"
        return text + (f", {self.retired} of former options retired" if self.retired else "")


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


def sync(
    rows: Iterable[Row], uri: str, store_dir: Path, *, theories: Theories | None = None, complete: bool = True
) -> SyncReport:
    """Log the rows of a suite that MLflow lacks, as one run per curve and replicate.

    A run is found by its tag ``bfc.key``; its tag ``bfc.points`` lists its sizes and a hash of their values. New sizes
    extend the run. If a logged point was withdrawn or changed, the run is deleted and created again, because MLflow
    keeps every logged value. Only runs of the same store are changed. Only one process may sync a store at a time.

    A ``complete`` sync, of all rows, also logs N*, exponents, ``theories`` and saved views. It tags runs of curves that
    are not in ``rows``, for example of former options, as retired, which removes them from the saved views.
    """
    curves = replicate_curves(rows)
    report = SyncReport(curves=len(curves))
    if not curves:
        return report
    first, store = curves[0].first, store_id(store_dir)
    with connection(uri) as client:
        experiment = ensure_experiment(client, uri, first.suite, first.suite_version, store_dir)
        newest = max(curve.ended for curve in curves)
        writer = _Writer(client, experiment, store_dir, store, newest, report)
        shown = [row for curve in curves for row in curve.rows]
        writer.log(curves, summaries(shown, theories or {}) if complete else None)
        if complete:
            save_views(client, experiment, shown)
    return report


def log_report(client: MlflowClient, experiment: str, stored: StoredSuite) -> str:
    """Log the report in the store, and its tables, as a run for the last session, and return the id of the run.

    A report that is there with the same content is not logged again; another one replaces the session's earlier run.
    """
    import pandas as pd

    session, content = stored.sessions[-1], key_of(stored.directory)
    identity = {"bfc.kind": "report", "bfc.session": session["id"]}
    for run in find_runs(client, experiment, identity):
        if run.data.tags.get("bfc.content") == content and run.info.status == "FINISHED":
            return str(run.info.run_id)
        remove(client, run)
    rows = stored.columns()
    cells = counted(len(rows), "cell")
    tags = {
        **identity,
        "bfc.content": content,
        "bfc.version": str(stored.version),
        "bfc.git": session["provenance"].get("git") or "",
        NOTE: f"Report of {stored.name}@{stored.version}: {cells}. Open `report.html` under Artifacts.",
    }
    run_id = str(client.create_run(experiment, tags=tags, run_name=f"report · {session['id']}").info.run_id)
    client.log_artifacts(run_id, str(stored.directory))
    tables = {
        "claims": [verdict.as_dict() for verdict in stored.claims()],
        "summary": summary_table(stored.curves(), stored.levels),
        "theory": [expected.as_dict() for expected in stored.theory()],
        "failures": problem_table(rows),
    }
    for table, records in tables.items():
        if records:
            client.log_table(run_id, pd.DataFrame(records), f"tables/{table}.json")
    client.set_terminated(run_id)
    return run_id


def find_runs(client: MlflowClient, experiment: str, tags: Mapping[str, str]) -> Iterator[Run]:
    """Find the runs of an experiment with these tags."""
    clauses = [f"tags.`{name}` = '{value}'" for name, value in tags.items()]
    token = None
    while True:
        page = client.search_runs([experiment], " and ".join(clauses), max_results=1000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def store_id(store_dir: Path) -> str:
    """The store's id in MLflow, which the first sync makes at random. Raises ``OutputError``."""
    file = store_dir / "mlflow-synced.json"
    if not file.exists():
        make_folder(store_dir, private=True)
        write_file(file, json.dumps({"store": secrets.token_hex(8)}).encode(), private=True)
    return str(json.loads(file.read_text())["store"])


def remove(client: MlflowClient, run: Run) -> None:
    """Delete one's own run, or hide it from the saved views where this user may not delete."""
    from mlflow.exceptions import MlflowException

    try:
        client.delete_run(run.info.run_id)
    except MlflowException as error:
        if error.error_code != "PERMISSION_DENIED":
            raise
        client.set_tag(run.info.run_id, "bfc.kind", RETIRED)


@dataclass(frozen=True)
class _Writer:
    """Makes the runs of one store in an experiment equal to its rows."""

    client: MlflowClient
    experiment: str
    store_dir: Path
    store: str
    """Id of the store."""
    newest: int
    """Time of the last row in Unix milliseconds."""
    report: SyncReport

    def log(self, curves: Sequence[ReplicateCurve], found: Summaries | None) -> None:
        """Log curves. With summaries, which are of all curves, other runs of this store leave the saved views."""
        runs = sorted(find_runs(self.client, self.experiment, {STORE: self.store}), key=_is_shown)
        own = {run.data.tags["bfc.key"]: run for run in runs}  # of two runs of a curve the one that the views show
        for curve in curves:
            row = curve.first
            summary = None if found is None else found[row.task, row.d, row.label, row.replicate]
            self._write(curve, own.pop(curve.key, None), summary)
        for run in own.values() if found is not None else ():
            if _is_shown(run):
                self.client.set_tag(run.info.run_id, "bfc.kind", RETIRED)
                self.report.retired += 1

    def _write(self, curve: ReplicateCurve, run: Run | None, summary: ReplicateSummary | None) -> None:
        """Make the run of one curve equal to its rows; without a summary, its metrics of summaries stay."""
        if run is not None and _contradicts(run, curve, summary):
            remove(self.client, run)
            run = None
        logged = _points(run) if run else {}
        new = [row for row in curve.rows if row.n in curve.points and str(row.n) not in logged]
        metrics = [
            (name, value, milliseconds(row), row.n) for row in new for name, value in curve.points[row.n].items()
        ]
        metrics += self._new_in_summary(summary, run) if summary else []
        if run is None:
            user = os.environ.get("MLFLOW_TRACKING_USERNAME") or os.environ.get("USER", "")
            identity = {"bfc.key": curve.key, "bfc.kind": "curve", STORE: self.store, OWNER: user}
            run = self.client.create_run(self.experiment, curve.started or None, identity, curve.name)
            self.report.created += 1
        params = {name: value for name, value in curve.params.items() if name not in run.data.params}
        tags = {name: value for name, value in _tags(curve, summary).items() if run.data.tags.get(name, "") != value}
        ended = (run.info.status, run.info.end_time) == (curve.status, curve.ended)
        if ended and not metrics and not params and not tags:
            self.report.unchanged += 1
            return
        self._log_artifacts(run.info.run_id, new)
        self._log_batches(run.info.run_id, metrics, params, tags)
        if not ended:
            self.client.set_terminated(run.info.run_id, curve.status, curve.ended)
        self.report.points += len(metrics)

    def _new_in_summary(self, summary: ReplicateSummary, run: Run | None) -> Iterator[Value]:
        """What changed in a summary, later than its earlier values: MLflow shows the latest, and clocks can go back."""
        if run and run.data.tags.get(SUMMARY) == summary.tags[SUMMARY]:
            return
        for name, values in summary.metrics.items():
            known = run is not None and name in run.data.metrics
            history = self.client.get_metric_history(run.info.run_id, name) if run and known else []
            logged = {old.step: old.value for old in sorted(history, key=lambda old: old.timestamp)}
            time = max([self.newest, *(old.timestamp + 1 for old in history)])
            yield from ((name, value, time, step) for step, value in values.items() if logged.get(step) != value)

    def _log_artifacts(self, run_id: str, rows: Iterable[Row]) -> None:
        """Log the artifacts of new points, before the tag that lists the points."""
        for row in rows:
            if row.artifacts:
                files = intact(self.store_dir, row.suite, row.suite_version, row.cell, row.artifacts)
                for file in files.values():
                    self.client.log_artifact(run_id, str(file), f"n={row.n}")

    def _log_batches(
        self, run_id: str, metrics: Sequence[Value], params: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        """Log the tags last, so that a run whose tag lists its points has all of them."""
        from mlflow.entities import Metric, Param, RunTag

        left, others = [Metric(*metric) for metric in metrics], [Param(*param) for param in params.items()]
        while len(left) > METRICS_PER_BATCH or len(others) > PARAMS_PER_BATCH:
            self.client.log_batch(run_id, left[:METRICS_PER_BATCH], others[:PARAMS_PER_BATCH])
            left, others = left[METRICS_PER_BATCH:], others[PARAMS_PER_BATCH:]
        self.client.log_batch(run_id, left, others, [RunTag(*tag) for tag in tags.items()])


def _is_shown(run: Run) -> bool:
    return bool(run.data.tags["bfc.kind"] != RETIRED)


def _points(run: Run) -> Mapping[str, str]:
    """Hashes of the values of a run by n."""
    return dict(json.loads(run.data.tags.get(POINTS, "{}")))


def _contradicts(run: Run, curve: ReplicateCurve, summary: ReplicateSummary | None) -> bool:
    """Whether MLflow has a value that is withdrawn: it keeps every logged value."""
    withdrawn = not _points(run).items() <= curve.digests.items()
    bars = set(run.data.metrics) & set(BARS)
    return withdrawn or (summary is not None and not bars <= set(summary.metrics))


def _tags(curve: ReplicateCurve, summary: ReplicateSummary | None) -> dict[str, str]:
    return {
        "bfc.kind": "curve",
        "bfc.version": str(curve.first.suite_version),
        POINTS: json.dumps(curve.digests, separators=(",", ":")),
        "bfc.failures": curve.failures,
        **(summary.tags if summary else {}),
    }
