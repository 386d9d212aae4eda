"""Saves views of MLflow's charts page: one per task and dimension, learners overlaid on logarithmic axes.

``mlflow_internals`` has the format of the views. There are none with a release of MLflow that it does not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bfc_bench.extras.mlflow.client import connection, experiment_name
from bfc_bench.extras.mlflow.curves import LOG_NMSE, PART_ERROR, metrics
from bfc_bench.extras.mlflow.mlflow_internals import VIEW_LENGTH, VIEW_TAG, page_state, view_paths, view_text
from bfc_bench.extras.mlflow.replicate_summaries import BARS
from bfc_bench.store.row import Row
from bfc_bench.utils.plain_json import digest

if TYPE_CHECKING:
    from mlflow import MlflowClient

KEY_PREFIX = "bfc"
"""Beginning of the keys of our views."""
_SECTIONS = (
    ("Error against n", True, 1, ("nmse", "error_rate", "metric/")),
    ("log10 of the error, averaged as in the report", True, 1, (LOG_NMSE,)),
    ("Hidden feature errors against n", True, 2, ("feature_error/",)),
    ("Errors in parts of the target against n", True, 2, (PART_ERROR,)),
    ("N* at errors of 0.1 and 0.01, and the exponent of N*(0.1) in d", True, 3, BARS),
    ("Training error and CPU seconds against n", True, 2, ("train_nmse", "cost/fit_seconds")),
    (
        "Other measures of features, and of how far training moved the weights",
        False,
        2,
        ("uncut_error/", "span_error/", "cka/", "weight_correlation/", "weight_alignment/"),
    ),
    ("Intermediate predictors against n", False, 2, ("stage/",)),
)
"""Title, whether it is open, number of columns, and metrics in order; those that end in ``/`` are prefixes."""


def save_views(client: MlflowClient, experiment: str, rows: Sequence[Row]) -> None:
    """Write the new and changed views of all (task, d); none if MLflow cannot take them."""
    with suppress(Exception):
        stored = client.get_experiment(experiment)
        groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in rows:
            groups[row.task, row.d].append(row)
        for (task, d), group in sorted(groups.items()):
            name = f"{task} · d={d}"
            tag = f"{VIEW_TAG}{KEY_PREFIX}{digest(name)}"
            text = view_text(name, stored.creation_time, view_state(group))
            if len(text) <= VIEW_LENGTH and stored.tags.get(tag) != text:
                client.set_experiment_tag(experiment, tag, text)


def saved_views(uri: str, *, suite: str, version: int) -> dict[str, str]:
    """The addresses of the views of a suite's experiment, below that of a server, sorted by name."""
    paths: dict[str, str] = {}
    with connection(uri) as client, suppress(AttributeError, KeyError, TypeError, ValueError):
        if experiment := client.get_experiment_by_name(experiment_name(suite, version)):
            paths = view_paths(experiment.experiment_id, experiment.tags, KEY_PREFIX)
    return dict(sorted(paths.items()))


def view_state(rows: Sequence[Row]) -> dict[str, Any]:
    """State of the charts page for the rows of a (task, d), with NMSE against n on logarithmic axes first."""
    clause = f"tags.`bfc.kind` = 'curve' and params.task = '{rows[0].task}' and params.d = '{rows[0].d}'"
    names = {name for row in rows if row.status == "ok" for name in metrics(row)} | set(BARS)
    sections = [(title, opened, width, _matching(patterns, names)) for title, opened, width, patterns in _SECTIONS]
    shared = {"task": rows[0].task, "d": str(rows[0].d)}
    groups = {row.label: {"label": row.label, "learner": row.learner} | shared for row in rows}
    return page_state(clause, list(groups.values()), sections, names)


def _matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    return [
        name
        for pattern in patterns
        for name in sorted(names)
        if name == pattern or (pattern.endswith("/") and name.startswith(pattern) and "trimmed" not in name)
    ]
