"""Saved views of MLflow's charts page: one per task and dimension, learners overlaid on logarithmic axes.

MLflow (3.15 to 3.x) keeps a view as an experiment tag ``mlflow.sharedViewState.<key>`` that its page reads when it is
opened with ``viewStateShareKey=<key>``. The format is internal to MLflow: whatever goes wrong here, the result is no
view.
"""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfc_bench.store.row import Row
from bfc_bench.tracking.client import connection, experiment_name
from bfc_bench.tracking.curves import LOG_NMSE, PART_ERROR, metrics
from bfc_bench.tracking.replicate_summaries import NAMES
from bfc_bench.utils.plain_json import digest

if TYPE_CHECKING:
    from mlflow import MlflowClient

log = logging.getLogger(__name__)

TAG = "mlflow.sharedViewState."
TAG_LENGTH = 20_000
RUNS_PER_VIEW = 50
"""Grouping covers the 100 runs that the page loads first."""


@dataclass(frozen=True)
class SavedView:
    """One saved view of an experiment."""

    name: str
    experiment: str
    key: str

    def url(self, base: str) -> str:
        """Its address at the server ``base``."""
        page = f"{base.rstrip('/')}/#/experiments/{self.experiment}/runs"
        return f"{page}?viewStateShareKey={self.key}&compareRunsMode=CHART&workflowType=machine_learning"


def save_views(client: MlflowClient, experiment: str, rows: Iterable[Row]) -> list[SavedView]:
    """Write one view per (task, d) of the rows where it is new or changed. Empty where this MLflow cannot take them."""
    try:
        return list(_save(client, experiment, rows))
    except Exception as error:
        log.debug("no saved views: %s", error)
        return []


def saved_views(uri: str, *, suite: str, version: int) -> list[SavedView]:
    """The views that a suite's experiment holds, by name. Raises ``TrackingError`` where MLflow is unreachable."""
    with connection(uri) as client:
        experiment = client.get_experiment_by_name(experiment_name(suite, version))
        if experiment is None:
            return []
        tags = {key.removeprefix(TAG): text for key, text in experiment.tags.items() if key.startswith(TAG + "bfc")}
        views = [SavedView(json.loads(text)["name"], experiment.experiment_id, key) for key, text in tags.items()]
    return sorted(views, key=lambda view: view.name)


def _save(client: MlflowClient, experiment: str, rows: Iterable[Row]) -> Iterator[SavedView]:
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.task, row.d].append(row)
    found = client.get_experiment(experiment)
    for (task, d), group in sorted(groups.items()):
        title = f"{task} · d={d}"
        views = {SavedView(title + part, experiment, _key(title + part)): clause for part, clause in _filters(group)}
        for tag in _stale(found.tags, title, {view.key for view in views}):
            client.delete_experiment_tag(experiment, tag)
        for view, clause in views.items():
            text = _envelope(view.name, found.creation_time, view_state(group, clause))
            if len(text) <= TAG_LENGTH:
                if found.tags.get(TAG + view.key) != text:
                    client.set_experiment_tag(experiment, TAG + view.key, text)
                yield view


def _key(name: str) -> str:
    return f"bfc{digest(name)}"


def _stale(tags: Mapping[str, str], title: str, keys: Container[str]) -> Iterator[str]:
    """Tags of earlier views of the same task and d, which was then split into another number of views."""
    for tag, text in tags.items():
        if tag.startswith(f"{TAG}bfc") and tag.removeprefix(TAG) not in keys:
            name = json.loads(text)["name"]
            if name == title or name.startswith(f"{title} ("):
                yield tag


def _filters(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """``(name suffix, filter)`` per view: one, or several with whole labels each where one would have too many runs."""
    clause = f"tags.`bfc.kind` = 'curve' and params.task = '{rows[0].task}' and params.d = '{rows[0].d}'"
    labels = sorted({row.label for row in rows})
    replicates = len({row.replicate for row in rows})
    size = max(1, RUNS_PER_VIEW // replicates)
    if len(labels) <= size:
        yield "", clause
        return
    for start in range(0, len(labels), size):
        others = labels[:start] + labels[start + size :]
        # Parameters cannot be compared with a list of values.
        excluded = "".join(f" and params.label != '{label}'" for label in others)
        yield f" ({start // size + 1} of {-(-len(labels) // size)})", clause + excluded


def view_state(rows: Iterable[Row], clause: str) -> dict[str, Any]:
    """State of the charts page: runs of ``clause`` grouped by label, NMSE against n on logarithmic axes first.

    Errors in parts of the target, which may be negative, have a linear axis.
    """
    names = {name for row in rows if row.status == "ok" for name in metrics(row)} | set(NAMES)
    sections, charts = [], []
    for title, display, columns, patterns in _SECTIONS:
        section = _section(title, display, columns)
        cards = [_card(name, section["uuid"]) for name in _matching(patterns, names)]
        sections += [section] if cards else []
        charts += cards
    shown = {chart["metricKey"] for chart in charts}
    # MLflow appends a card for every metric that has none; a deleted card keeps it from doing so.
    charts += [_card(name, sections[0]["uuid"], deleted=True) for name in sorted(names - shown)]
    return {
        "searchFilter": clause,
        "orderByKey": "attributes.`start_time`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "param", "groupByData": "label"}]},
        "useGroupedValuesInCharts": True,
        "runsHiddenMode": "SHOW_ALL",
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "compareRunSections": sections,
        "compareRunCharts": charts,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
        "runListHidden": True,
        "selectedColumns": ["params.`replicate`", "metrics.`nmse`", f"metrics.`{LOG_NMSE}`"],
    }


_SECTIONS = (
    ("Error against n", True, 1, ("nmse", "error_rate", "metric/")),
    ("log10 of the error, averaged as in the report", True, 1, (LOG_NMSE,)),
    ("Hidden feature errors against n", True, 2, ("feature_error/",)),
    ("Errors in parts of the target against n", True, 2, (PART_ERROR,)),
    ("N* at errors of 0.1 and 0.01, and the exponent of N*(0.1) in d", True, 3, NAMES),
    ("Training error and CPU seconds against n", True, 2, ("train_nmse", "cost/fit_seconds")),
    (
        "Other measures of features, and of how far training moved the weights",
        False,
        2,
        ("span_error/", "cka/", "weight_correlation/", "weight_alignment/"),
    ),
    ("Intermediate predictors against n", False, 2, ("stage/",)),
)
"""Title, whether it is open, columns, and its metrics in order, those ending in ``/`` being prefixes."""


def _matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    return [
        name
        for pattern in patterns
        for name in sorted(names)
        if name == pattern or (pattern.endswith("/") and name.startswith(pattern) and "trimmed" not in name)
    ]


def _section(title: str, display: bool, columns: int) -> dict[str, Any]:
    return {
        "uuid": f"section-{digest(title, 4)}",
        "name": title,
        "display": display,
        "columns": columns,
        "cardHeight": 320 + 240 // columns,
        "isReordered": True,
        "deleted": False,
        "isGenerated": False,
    }


def _card(metric: str, section: str, deleted: bool = False) -> dict[str, Any]:
    bar = metric in NAMES
    card = {
        "uuid": f"card-{digest(metric, 4)}",
        "type": "BAR" if bar else "LINE",
        "metricSectionId": section,
        "metricKey": metric,
        "deleted": deleted,
        "isGenerated": True,
        "runsCountToCompare": RUNS_PER_VIEW,
    }
    if bar or deleted:
        return card
    return card | {
        "selectedMetricKeys": [metric],
        "lineSmoothness": 0,
        "xAxisKey": "step",
        "xAxisScaleType": "log",
        "scaleType": "linear" if PART_ERROR in metric or metric == LOG_NMSE else "log",
        "selectedXAxisMetricKey": "",
        "useGlobalXaxisKey": False,
        "useGlobalLineSmoothing": False,
        "displayPoints": True,
        "range": {},
    }


def _envelope(name: str, created: int, state: Mapping[str, Any]) -> str:
    """What the tag holds: the state as JSON, deflated, in base64, with the view's name and times in milliseconds."""
    packed = base64.b64encode(zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": created, "updatedAt": created, "state": f"deflate;{packed}"})
