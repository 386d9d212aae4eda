"""Logs theoretical errors to MLflow, as the metric ``theory/nmse`` of the runs of curves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from bfc_bench.analysis.theory import Theories
from bfc_bench.extras.mlflow.client import connection, ensure_experiment
from bfc_bench.extras.mlflow.curves import milliseconds, replicate_curves
from bfc_bench.extras.mlflow.owner import is_own
from bfc_bench.extras.mlflow.sync import METRICS_PER_BATCH, find_runs
from bfc_bench.extras.mlflow.sync_cache import store_id
from bfc_bench.store.row import Row
from bfc_bench.utils.plain_json import digest

METRIC = "theory/nmse"
TAG = "bfc.theory"
"""Tag with a hash of the logged values, so that repeated logging adds nothing."""
DIGITS = 6
"""Number of logged digits; the last ones differ between machines."""


def log_theories(
    rows: Iterable[Row], uri: str, theories: Theories, *, suite: str, version: int, store_dir: Path | None = None
) -> int:
    """Log the expected NMSE at step = n to the runs of curves with a theory; curves without a run are left out.

    Args:
        rows: Rows of the suite.
        uri: Tracking URI.
        theories: Theories by (task, d, label).
        suite: Name of the suite.
        version: Version of the suite.
        store_dir: Folder of the store, for the artifacts of a local database.

    Returns:
        Number of runs that gained values.

    Raises:
        TrackingError: MLflow fails.
    """
    curves = {curve.key: curve for curve in replicate_curves(rows)}
    expected = {
        key: {n: value for n in curve.points if math.isfinite(value := float(f"{theory.nmse(n):.{DIGITS}g}"))}
        for key, curve in curves.items()
        if (theory := theories.get((curve.first.task, curve.first.d, curve.first.label)))
    }
    if not any(expected.values()):
        return 0
    gained = 0
    with connection(uri) as client:
        from mlflow.entities import Metric, RunTag

        experiment = ensure_experiment(client, uri, suite, version, store_dir)
        store = "" if store_dir is None else store_id(store_dir)
        for run in find_runs(client, experiment, {"bfc.kind": "curve"}):
            if not is_own(run, store):
                continue
            values = expected.get(run.data.tags["bfc.key"])
            if not values or run.data.tags.get(TAG) == digest([*values.items()]):
                continue
            times = {row.n: milliseconds(row) for row in curves[run.data.tags["bfc.key"]].rows}
            history = client.get_metric_history(run.info.run_id, METRIC) if METRIC in run.data.metrics else ()
            logged = {(metric.step, metric.value) for metric in history}
            new = [Metric(METRIC, value, times[n], n) for n, value in values.items() if (n, value) not in logged]
            for start in range(0, len(new), METRICS_PER_BATCH):
                client.log_batch(run.info.run_id, new[start : start + METRICS_PER_BATCH])
            # The tag comes last, so that a run with it has all values.
            client.log_batch(run.info.run_id, tags=[RunTag(TAG, digest([*values.items()]))])
            gained += bool(new)
    return gained
