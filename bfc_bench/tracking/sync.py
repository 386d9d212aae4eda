"""Bring an MLflow server or database up to date with rows of the store; running it again adds nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bfc_bench.store.artifacts import intact
from bfc_bench.store.row import Row
from bfc_bench.tracking.client import NOTE, connection, ensure_experiment
from bfc_bench.tracking.curves import ReplicateCurve, milliseconds, replicate_curves
from bfc_bench.tracking.replicate_summaries import NAMES, ReplicateSummary, fits
from bfc_bench.tracking.sync_cache import note
from bfc_bench.tracking.views import SavedView, save_views

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

T = TypeVar("T")

METRICS_PER_BATCH = 800
RETIRED = "retired"
"""Value of the tag ``bfc.kind`` of curves that the store's current view no longer has; saved views show ``curve``."""
PARAMS_PER_BATCH = 100
"""Limits of one request: 1,000 metrics, 100 parameters, 100 tags, 1,000 of all together."""


@dataclass
class SyncReport:
    """What a sync did."""

    curves: int = 0
    """Curves in the rows."""
    created: int = 0
    """Runs that were made, among them those that replace one with withdrawn points."""
    unchanged: int = 0
    """Curves of which nothing was missing."""
    points: int = 0
    """Metric values that were logged."""
    retired: int = 0
    """Runs of options that are no longer current, newly taken out of the saved views."""
    views: list[SavedView] = field(default_factory=list)

    def __str__(self) -> str:
        """One line for the terminal."""
        text = f"{self.curves} curves: {self.created} new, {self.unchanged} unchanged, {self.points} values logged"
        return text + (f", {self.retired} of former options retired" if self.retired else "")


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
    """Log what MLflow at ``uri`` misses of the rows of ``suite`` at ``version``: one run per curve and replicate.

    A run is found by its tag ``bfc.key``, and its tag ``bfc.points`` tells which sizes it holds with which values. New
    sizes extend the run; where a logged point was withdrawn or has another value, the run is deleted and made anew,
    because MLflow keeps every value ever logged. ``rows`` are the store's current view: the run of a curve that is not
    among them, of former options say, is kept and tagged as retired, which takes it out of the saved views.

    ``complete`` false leaves out retiring, N*, exponents and saved views, which may still change while cells are
    running. The artifacts of cells are found in ``store_dir`` and logged to their curve's run, in a folder for each n;
    a local database puts all artifacts there, and it remembers a complete sync (see ``tracking.synced``). ``git`` is
    the commit noted on runs that gain points. One writer at a time. Raises ``TrackingError``.
    """
    mine = [row for row in rows if (row.suite, row.suite_version) == (suite, version)]
    curves = replicate_curves(mine)
    report = SyncReport(curves=len(curves))
    if not curves:
        return report
    found = fits(row for curve in curves for row in curve.rows) if complete else None
    newest = max(map(milliseconds, mine))
    with connection(uri) as client:
        experiment = ensure_experiment(client, uri, suite, version, store_dir)
        known = [run for run in find_runs(client, experiment) if run.data.tags.get("bfc.kind") in (RETIRED, "curve")]
        known.sort(key=lambda run: run.data.tags["bfc.kind"] == "curve")  # of two of one curve the one that is shown
        runs = {run.data.tags["bfc.key"]: run for run in known}
        for curve in curves:
            row = curve.first
            fit = None if found is None else found.get((row.task, row.d, row.label, row.replicate), ReplicateSummary())
            writer = _Writer(client, experiment, curve, fit, newest, git, store_dir)
            writer.write(runs.get(curve.key), report)
        if complete:
            report.retired = _retire(client, [runs[key] for key in runs.keys() - {curve.key for curve in curves}])
            report.views = save_views(client, experiment, mine)
    if complete and store_dir is not None:
        note(store_dir, uri, suite, version, mine)
    return report


def _retire(client: MlflowClient, runs: Iterable[Run]) -> int:
    """Take runs out of the saved views; how many were in them."""
    shown = [run for run in runs if run.data.tags["bfc.kind"] != RETIRED]
    for run in shown:
        client.set_tag(run.info.run_id, "bfc.kind", RETIRED)
    return len(shown)


def find_runs(client: MlflowClient, experiment: str, tags: Mapping[str, str] | None = None) -> Iterator[Run]:
    """The experiment's runs that have these tags."""
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
    """Makes one curve's run hold exactly what the rows say."""

    client: MlflowClient
    experiment: str
    curve: ReplicateCurve
    fit: ReplicateSummary | None
    """Metrics at step 0, None to leave them as they are."""
    newest: int
    git: str | None
    store_dir: Path | None
    """Where artifacts are; None to log none."""

    def write(self, run: Run | None, report: SyncReport) -> None:
        if run is not None and self._contradicts(run):
            self.client.delete_run(run.info.run_id)
            run = None
        logged: Mapping[str, str] = json.loads(run.data.tags.get("bfc.points", "{}")) if run else {}
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
        logged = json.loads(run.data.tags.get("bfc.points", "{}"))
        withdrawn = any(self.curve.digests.get(n) != digest for n, digest in logged.items())
        bars = set(run.data.metrics) & set(NAMES)
        return withdrawn or (self.fit is not None and not bars <= set(self.fit.metrics))

    def _create(self) -> Run:
        source = f"bfc-bench run {self.curve.first.suite}"
        tags = {"bfc.key": self.curve.key, "bfc.kind": "curve", NOTE: self.curve.note}
        tags |= {"mlflow.source.name": source, "mlflow.source.type": "LOCAL"}
        return self.client.create_run(self.experiment, self.curve.started or None, tags, self.curve.name)

    def _tags(self, extended: bool) -> dict[str, str]:
        tags = {
            "bfc.kind": "curve",
            "bfc.version": str(self.curve.first.suite_version),
            "bfc.points": json.dumps(self.curve.digests, separators=(",", ":")),
            "bfc.failures": self.curve.failures,
        }
        if self.fit:
            tags |= {"bfc.exponent": self.fit.exponent, "bfc.ill_behaved": "; ".join(self.fit.ill_behaved)}
        return tags | ({"bfc.git": self.git} if self.git and extended else {})

    def _new_points(self, logged: Mapping[str, str]) -> Iterator[tuple[str, float, int, int]]:
        for row in self.curve.rows:
            if row.n in self.curve.points and str(row.n) not in logged:
                for name, value in self.curve.points[row.n].items():
                    yield name, value, milliseconds(row), row.n

    def _log_artifacts(self, run_id: str, logged: Mapping[str, str]) -> None:
        """Those of new points, before the tag that lists the points."""
        if self.store_dir is None:
            return
        for row in self.curve.rows:
            if row.artifacts and row.n in self.curve.points and str(row.n) not in logged:
                files = intact(self.store_dir, row.suite, row.suite_version, row.cell, row.artifacts)
                for file in files.values():
                    self.client.log_artifact(run_id, str(file), f"n={row.n}")

    def _new_bars(self, run: Run | None) -> Iterator[tuple[str, float, int, int]]:
        for name, value in (self.fit.metrics if self.fit else {}).items():
            if run is None or run.data.metrics.get(name) != value:
                yield name, value, self._after(run, name) if run and name in run.data.metrics else self.newest, 0

    def _after(self, run: Run, name: str) -> int:
        """A time in milliseconds that is later than any of a bar: MLflow shows the latest value, and clocks go back."""
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
        # Tags are in the last batch, of which MLflow logs them last: a run whose tag lists its points holds them all.
        some_tags = [[]] * (max(len(some_metrics), len(some_params), 1) - 1) + [[RunTag(*tag) for tag in tags.items()]]
        for batch in zip_longest(some_metrics, some_params, some_tags, fillvalue=()):
            self.client.log_batch(run_id, *batch)


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
