"""Saves views of MLflow's charts page: one per task and dimension, learners overlaid on logarithmic axes.

For each axis of a grid there is a view that overlays its values.

``mlflow_internals`` has the format of the views. There are none with a release of MLflow that it does not know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfc_bench.extras.mlflow.client import connection, experiment_name
from bfc_bench.extras.mlflow.curves import LOG_NMSE, PART_ERROR, metrics
from bfc_bench.extras.mlflow.mlflow_internals import (
    RUNS_PER_VIEW,
    VIEW_LENGTH,
    VIEW_TAG,
    optional,
    page_state,
    view_names,
    view_path,
    view_text,
)
from bfc_bench.extras.mlflow.replicate_summaries import BARS
from bfc_bench.store.row import Row
from bfc_bench.suite.axes import family, is_numeric, value_key
from bfc_bench.utils.plain_json import digest

if TYPE_CHECKING:
    from mlflow import MlflowClient

_CURVES = "tags.`bfc.kind` = 'curve'"
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


@dataclass(frozen=True)
class SavedView:
    """One saved view of an experiment."""

    name: str
    experiment: str
    key: str

    def url(self, base: str) -> str:
        """Its address at the server ``base``."""
        return base.rstrip("/") + view_path(self.experiment, self.key)


def save_views(client: MlflowClient, experiment: str, rows: Sequence[Row]) -> None:
    """Write the new and changed views of all (task, d) and axes; none if MLflow cannot take them."""
    optional("no saved views", lambda: _save(client, experiment, rows), None)


def saved_views(uri: str, *, suite: str, version: int) -> list[SavedView]:
    """The views of a suite's experiment, sorted by name."""
    with connection(uri) as client:
        experiment = client.get_experiment_by_name(experiment_name(suite, version))
        if experiment is None:
            return []
        names: dict[str, str] = optional("no saved views", lambda: view_names(experiment.tags, KEY_PREFIX), {})
        views = [SavedView(name, experiment.experiment_id, key) for key, name in names.items()]
    return sorted(views, key=lambda view: view.name)


def _save(client: MlflowClient, experiment: str, rows: Sequence[Row]) -> None:
    stored = client.get_experiment(experiment)
    names = view_names(stored.tags, KEY_PREFIX)
    for overlay in overlays(rows):
        texts = {
            f"{KEY_PREFIX}{digest(name)}": view_text(name, stored.creation_time, view_state(overlay, clause))
            for name, clause in filters(overlay)
        }
        former = {key for key, name in names.items() if name == overlay.title or name.startswith(f"{overlay.title} (")}
        for key in former - texts.keys():  # this overlay was split into another number of views
            client.delete_experiment_tag(experiment, VIEW_TAG + key)
        for key, text in texts.items():
            if len(text) <= VIEW_LENGTH and stored.tags.get(VIEW_TAG + key) != text:
                client.set_experiment_tag(experiment, VIEW_TAG + key, text)


@dataclass(frozen=True)
class Overlay:
    """What one saved view overlays, before it is split."""

    title: str
    rows: Sequence[Row]
    clause: str
    """Filter of its runs."""
    by: tuple[str, ...] = ("label",)
    """Parameters by which runs are averaged."""


def overlays(rows: Sequence[Row]) -> Iterator[Overlay]:
    """One overlay of all learners per (task, d), then one of all values per axis, d, and values of the other axes."""
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    along: dict[tuple[str, int, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task, row.d].append(row)
        for axis, value in row.axes.items():
            task, label = family(row.task, axis, value), family(row.label, axis, value)
            along[task, row.d, label if label != row.label else "", axis].append(row)
    for (task, d), group in sorted(groups.items()):
        yield Overlay(f"{task} · d={d}", group, f"{_CURVES} and params.task = '{task}' and params.d = '{d}'")
    for (task, d, label, axis), group in sorted(along.items()):
        if len({value_key(row.axes[axis]) for row in group}) > 1:
            yield _along(axis, task, d, label, group)


def _along(axis: str, task: str, d: int, label: str, rows: Sequence[Row]) -> Overlay:
    """The overlay of the values on one axis, of tasks, or of learners if ``label`` is given, which are families."""
    first, what = rows[0], "label" if label else "task"
    name: str = getattr(first, what)
    fixed = {other: v for other, v in first.axes.items() if other != axis and family(name, other, v) != name}
    clause = f"{_CURVES} and params.d = '{d}' and params.{what} LIKE '{_grid(name, first.axes)}:%'"
    clause += f" and params.task = '{task}'" * bool(label)
    clause += "".join(f" and params.`axis.{o}` = '{value_key(v)}'" for o, v in fixed.items() if is_numeric(v))
    if label:
        return Overlay(f"{label} on {task} · d={d} · by {axis}", rows, clause, (f"axis.{axis}",))
    return Overlay(f"{task} · d={d} · by {axis}", rows, clause, ("label", f"axis.{axis}"))


def _grid(name: str, axes: Mapping[str, Any]) -> str:
    """The grid of a member with this name."""
    for axis, value in axes.items():
        name = family(name, axis, value)
    return name


def filters(overlay: Overlay) -> Iterator[tuple[str, str]]:
    """``(name, filter)`` per view: one, or several with whole labels each if one would have too many runs."""
    labels = sorted({row.label for row in overlay.rows})
    size = max(1, RUNS_PER_VIEW // len({(row.task, row.replicate) for row in overlay.rows}))
    if len(labels) <= size:
        yield overlay.title, overlay.clause
        return
    for start in range(0, len(labels), size):
        others = labels[:start] + labels[start + size :]
        # Parameters cannot be compared with a list of values.
        excluded = "".join(f" and params.label != '{label}'" for label in others)
        yield f"{overlay.title} ({start // size + 1} of {-(-len(labels) // size)})", overlay.clause + excluded


def view_state(overlay: Overlay, clause: str) -> dict[str, Any]:
    """State of the charts page: the runs of ``clause``, averaged, with NMSE against n on logarithmic axes first."""
    names = {name for row in overlay.rows if row.status == "ok" for name in metrics(row)} | set(BARS)
    sections = [(title, opened, width, _matching(patterns, names)) for title, opened, width, patterns in _SECTIONS]
    return page_state(clause, sections, names, overlay.by)


def _matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    return [
        name
        for pattern in patterns
        for name in sorted(names)
        if name == pattern or (pattern.endswith("/") and name.startswith(pattern) and "trimmed" not in name)
    ]
