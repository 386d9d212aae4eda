"""Brings MLflow up to date with the rows of the store; repeating it adds nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bfc_bench.extras.mlflow.client import NOTE, connection, ensure_experiment
from bfc_bench.extras.mlflow.curves import ReplicateCurve, milliseconds, replicate_curves
from bfc_bench.extras.mlflow.owner import (
    OWNER,
    POINTS,
    RETIRED,
    STORE,
    holds,
    is_own,
    is_shown,
    points,
    remove,
    repeated,
    user_name,
)
from bfc_bench.extras.mlflow.replicate_summaries import NAMES, ReplicateSummary, fits
from bfc_bench.extras.mlflow.sync_cache import note_rows, store_id
from bfc_bench.extras.mlflow.views import SavedView, save_views
from bfc_bench.store.artifacts import intact
from bfc_bench.store.row import Row

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

T = TypeVar("T")

METRICS_PER_BATCH = 800
PARAMS_PER_BATCH = 100
"""MLflow accepts 1,000 metrics, 100 parameters, 100 tags and 1,000 of all together in one request."""


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
    elsewhere: int = 0
    """Curves that a run of another store has."""
    views: list[SavedView] = field(default_factory=list)

    def __str__(self) -> str:
        """One line for the terminal."""
        text = f"{self.curves} curves: {self.created} new, {self.unchanged} unchanged, {self.points} values logged"
        text += f", {self.retired} of former options retired" if self.retired else ""
        return text + (f", {self.elsewhere} in runs of another store" if self.elsewhere else "")


def sync(
    rows: Iterable[Row],
    uri: str,
    *,
    suite: str,
    version: int,
    store_dir: Path | None = None,
    git: str | None = None,
    complete: bool = True,
) -> SyncReport:
    """Log the rows of a suite that MLflow lacks, as one run per curve and replicate.

    A run is found by its tag ``bfc.key``; its tag ``bfc.points`` lists its sizes and a hash of their values. New sizes
    extend the run. If a logged point was withdrawn or changed, the run is deleted and created again, because MLflow
    keeps every logged value. Runs of curves that are not in ``rows``, for example of former options, are tagged as
    retired, which removes them from the saved views. Only runs of the same store are changed: a curve that a run of
    another store has is not logged again, and one that differs gets a run of its own. Only one process may sync a store
    at a time.
    """
    suite_rows = [row for row in rows if (row.suite, row.suite_version) == (suite, version)]
    curves = replicate_curves(suite_rows)
    report = SyncReport(curves=len(curves))
    if not curves:
        return report
    summaries = fits(row for curve in curves for row in curve.rows) if complete else None
    newest, store = max(map(milliseconds, suite_rows)), "" if store_dir is None else store_id(store_dir)
    with connection(uri) as client:
        experiment = ensure_experiment(client, uri, suite, version, store_dir)
        own, others = _by_key(client, experiment, store)
        for curve in curves:
            run = own.get(curve.key)
            if (run is None or not is_shown(run)) and any(holds(x, curve.digests) for x in others.get(curve.key, ())):
                report.elsewhere += 1
                continue
            row = curve.first
            key = row.task, row.d, row.label, row.replicate
            summary = None if summaries is None else summaries.get(key, ReplicateSummary())
            writer = _Writer(client, experiment, curve, summary, newest, git, store_dir, store)
            writer.write(run, report)
        if complete:
            report.retired = _retire(client, [own[key] for key in own.keys() - {curve.key for curve in curves}])
            if report.created or others:  # another store may have logged the same curves meanwhile
                report.elsewhere += _remove_repeated(client, experiment, store)
            report.views = save_views(client, experiment, suite_rows)
    if complete and store_dir is not None:
        note_rows(store_dir, uri, suite, version, suite_rows)
    return report


def _by_key(client: MlflowClient, experiment: str, store: str) -> tuple[dict[str, Run], dict[str, list[Run]]]:
    """Runs of curves by key: those of this store, and those of others that the views show."""
    known = [run for run in find_runs(client, experiment) if run.data.tags.get("bfc.kind") in (RETIRED, "curve")]
    # If a curve has two runs, use the one that the views show.
    own = {run.data.tags["bfc.key"]: run for run in sorted(known, key=is_shown) if is_own(run, store)}
    others: dict[str, list[Run]] = {}
    for run in known:
        if is_shown(run) and not is_own(run, store):
            others.setdefault(run.data.tags["bfc.key"], []).append(run)
    return own, others


def _remove_repeated(client: MlflowClient, experiment: str, store: str) -> int:
    """Remove runs of this store that a run of another store repeats; returns how many."""
    own, others = _by_key(client, experiment, store)
    superfluous = [run for key, run in own.items() if is_shown(run) and repeated(run, others.get(key, ()))]
    for run in superfluous:
        remove(client, run)
    return len(superfluous)


def _retire(client: MlflowClient, runs: Iterable[Run]) -> int:
    """Remove runs from the saved views; returns how many were in them."""
    shown = [run for run in runs if run.data.tags["bfc.kind"] != RETIRED]
    for run in shown:
        client.set_tag(run.info.run_id, "bfc.kind", RETIRED)
    return len(shown)


def find_runs(client: MlflowClient, experiment: str, tags: Mapping[str, str] | None = None) -> Iterator[Run]:
    """Find the runs of an experiment."""
    clauses = [f"tags.`{name}` = '{value}'" for name, value in (tags or {}).items()]
    token = None
    while True:
        page = client.search_runs([experiment], " and ".join(clauses), max_results=1000, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


@dataclass(frozen=True)
class _Writer:
    """Makes the run of one curve equal to its rows."""

    client: MlflowClient
    experiment: str
    curve: ReplicateCurve
    summary: ReplicateSummary | None
    """Metrics at step 0; None to leave them unchanged."""
    newest: int
    git: str | None
    store_dir: Path | None
    """Folder of the store with the artifacts; None to log no artifacts."""
    store: str
    """Id of the store."""

    def write(self, run: Run | None, report: SyncReport) -> None:
        if run is not None and self._contradicts(run):
            remove(self.client, run)
            run = None
        logged = points(run) if run else {}
        metrics = [*self._new_points(logged), *self._new_bars(run)]
        if run is None:
            run = self._create()
            report.created += 1
            params = self.curve.params
        else:
            params = {key: value for key, value in self.curve.params.items() if key not in run.data.params}
        tags = {key: value for key, value in self._tags(bool(metrics)).items() if run.data.tags.get(key, "") != value}
        ended = (run.info.status, run.info.end_time) == (self.curve.status, self.curve.ended)
        if ended and not metrics and not params and not tags:
            report.unchanged += 1
            return
        self._log_artifacts(run.info.run_id, logged)
        self._log(run.info.run_id, metrics, params, tags)
        if not ended:
            self.client.set_terminated(run.info.run_id, self.curve.status, self.curve.ended)
        report.points += len(metrics)

    def _contradicts(self, run: Run) -> bool:
        withdrawn = not points(run).items() <= self.curve.digests.items()
        bars = set(run.data.metrics) & set(NAMES)
        return withdrawn or (self.summary is not None and not bars <= set(self.summary.metrics))

    def _create(self) -> Run:
        source = f"bfc-bench run {self.curve.first.suite}"
        tags = {"bfc.key": self.curve.key, "bfc.kind": "curve", NOTE: self.curve.note}
        tags |= {STORE: self.store, OWNER: user_name()}
        tags |= {"mlflow.source.name": source, "mlflow.source.type": "LOCAL"}
        return self.client.create_run(self.experiment, self.curve.started or None, tags, self.curve.name)

    def _tags(self, extended: bool) -> dict[str, str]:
        tags = {
            "bfc.kind": "curve",
            "bfc.version": str(self.curve.first.suite_version),
            POINTS: json.dumps(self.curve.digests, separators=(",", ":")),
            "bfc.failures": self.curve.failures,
        }
        if self.summary:
            tags |= {"bfc.exponent": self.summary.exponent, "bfc.ill_behaved": "; ".join(self.summary.ill_behaved)}
        return tags | ({"bfc.git": self.git} if self.git and extended else {})

    def _new_points(self, logged: Mapping[str, str]) -> Iterator[tuple[str, float, int, int]]:
        for row in self.curve.rows:
            if row.n in self.curve.points and str(row.n) not in logged:
                for name, value in self.curve.points[row.n].items():
                    yield name, value, milliseconds(row), row.n

    def _log_artifacts(self, run_id: str, logged: Mapping[str, str]) -> None:
        """Log the artifacts of new points, before the tag that lists the points."""
        if self.store_dir is None:
            return
        for row in self.curve.rows:
            if row.artifacts and row.n in self.curve.points and str(row.n) not in logged:
                files = intact(self.store_dir, row.suite, row.suite_version, row.cell, row.artifacts)
                for file in files.values():
                    self.client.log_artifact(run_id, str(file), f"n={row.n}")

    def _new_bars(self, run: Run | None) -> Iterator[tuple[str, float, int, int]]:
        for name, value in (self.summary.metrics if self.summary else {}).items():
            if run is None or run.data.metrics.get(name) != value:
                yield name, value, self._after(run, name) if run and name in run.data.metrics else self.newest, 0

    def _after(self, run: Run, name: str) -> int:
        """A timestamp after all earlier ones of a bar: MLflow shows the latest value, and clocks can go back."""
        values = self.client.get_metric_history(run.info.run_id, name)
        return max([int(1000 * time.time()), *(int(value.timestamp) + 1 for value in values)])

    def _log(
        self,
        run_id: str,
        metrics: Sequence[tuple[str, float, int, int]],
        params: Mapping[str, str],
        tags: Mapping[str, str],
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        some_metrics = list(_chunks([Metric(*metric) for metric in metrics], METRICS_PER_BATCH))
        some_params = list(_chunks([Param(*param) for param in params.items()], PARAMS_PER_BATCH))
        # MLflow logs the tags of a batch last, so a run whose tag lists its points has all of them.
        some_tags = [[]] * (max(len(some_metrics), len(some_params), 1) - 1) + [[RunTag(*tag) for tag in tags.items()]]
        for batch in zip_longest(some_metrics, some_params, some_tags, fillvalue=()):
            self.client.log_batch(run_id, *batch)


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
