"""Saves views of MLflow's charts page: one per task and dimension, learners overlaid on logarithmic axes.

The format is MLflow's own, and any of its releases may change it: there are no views then.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from typing import TYPE_CHECKING, Any

from bfc_bench.extras.mlflow.client import connection, experiment_name
from bfc_bench.extras.mlflow.curves import LOG_NMSE, PART_ERROR, metrics
from bfc_bench.extras.mlflow.replicate_summaries import BARS
from bfc_bench.store.row import Row
from bfc_bench.utils.plain_json import digest

if TYPE_CHECKING:
    from mlflow import MlflowClient

VIEW_TAG = "mlflow.sharedViewState."
"""Prefix of the experiment tags that hold saved views; the charts page opens a view with its key in the address."""
VIEW_LENGTH = 20_000
"""Maximum length of such a tag."""
COLOURS = 29
"""Number of colours in the palette of the charts page."""
LINES_PER_CHART = 50
"""Maximum number of lines or bars of a chart."""
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
_SECTION = {"isReordered": True, "deleted": False, "isGenerated": False}


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
    query = "compareRunsMode=CHART&workflowType=machine_learning&viewStateShareKey="
    paths: dict[str, str] = {}
    with connection(uri) as client, suppress(AttributeError, KeyError, TypeError, ValueError):
        if experiment := client.get_experiment_by_name(experiment_name(suite, version)):
            for tag, text in experiment.tags.items():
                if tag.startswith(VIEW_TAG + KEY_PREFIX):
                    address = f"/#/experiments/{experiment.experiment_id}/runs?{query}{tag.removeprefix(VIEW_TAG)}"
                    paths[json.loads(text)["name"]] = address
    return dict(sorted(paths.items()))


def view_state(rows: Sequence[Row]) -> dict[str, Any]:
    """State of the charts page for the rows of a (task, d), with NMSE against n on logarithmic axes first.

    Runs are averaged by learner, and each metric has a chart.
    """
    shared = {"task": rows[0].task, "d": str(rows[0].d)}
    groups = {row.label: {"label": row.label, "learner": row.learner} | shared for row in rows}
    names = {name for row in rows if row.status == "ok" for name in metrics(row)} | set(BARS)
    sections, cards = list[dict[str, Any]](), list[dict[str, Any]]()
    for title, is_open, columns, patterns in _SECTIONS:
        if found := _matching(patterns, names):
            id = f"section-{digest(title, 4)}"
            cards += [_card(metric, id) for metric in found]
            section = {"uuid": id, "name": title, "display": is_open, "columns": columns}
            sections.append(section | {"cardHeight": 320 + 240 // columns} | _SECTION)
    # MLflow adds a card for every metric that has none, unless there is a deleted one.
    hidden = names - {card["metricKey"] for card in cards}
    cards += [_card(metric, sections[0]["uuid"], deleted=True) for metric in sorted(hidden)]
    return {
        "searchFilter": f"tags.`bfc.kind` = 'curve' and params.task = '{rows[0].task}' and params.d = '{rows[0].d}'",
        "orderByKey": "attributes.`start_time`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "groupBy": {
            "aggregateFunction": "average",
            "groupByKeys": [{"mode": "param", "groupByData": name} for name in grouping([*groups.values()])],
        },
        "useGroupedValuesInCharts": True,
        "runsHiddenMode": "SHOW_ALL",
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "compareRunSections": sections,
        "compareRunCharts": cards,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
        "runListHidden": True,
        "selectedColumns": ["params.`replicate`", "metrics.`nmse`", f"metrics.`{LOG_NMSE}`"],
    }


def _matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    return [
        name
        for pattern in patterns
        for name in sorted(names)
        if name == pattern or (pattern.endswith("/") and name.startswith(pattern) and "trimmed" not in name)
    ]


def view_text(name: str, created: int, state: Mapping[str, Any]) -> str:
    """Value of the tag of a view: JSON with the state as deflated JSON in base64."""
    packed = base64.b64encode(zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": created, "updatedAt": created, "state": f"deflate;{packed}"})


def colour_of(group: Mapping[str, str]) -> int:
    """The place in MLflow's palette of the colour that the charts page gives to a group of runs by these parameters."""
    first = second = 0
    for character in ",".join(f"param.{name}.{value}" for name, value in group.items()):
        first = (first + ord(character)) % 255
        second = (second + first) % 255
    return (first | second << 8) % COLOURS


def grouping(groups: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """The parameters by which to group runs so that most ``groups`` have a colour of their own; the first always.

    A group has the values of the parameters that its runs share, by name. MLflow hashes names and values in their
    order, and some of them do not tell the groups apart.
    """
    names = list(groups[0])
    several = (order for count in range(1, len(names) + 1) for order in permutations(names, count) if names[0] in order)
    return max(several, key=lambda order: len({colour_of({name: of[name] for name in order}) for of in groups}))


def _card(metric: str, section: str, deleted: bool = False) -> dict[str, Any]:
    """Bars of a metric at step 0, else lines against n.

    Logarithms, and errors in parts of the target, which may be negative, have a linear axis.
    """
    bars = metric in BARS
    card = {
        "uuid": f"card-{digest(metric, 4)}",
        "type": "BAR" if bars else "LINE",
        "metricSectionId": section,
        "metricKey": metric,
        "deleted": deleted,
        "isGenerated": True,
        "runsCountToCompare": LINES_PER_CHART,
    }
    if bars or deleted:
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
