"""Everything that relies on MLflow's internals: the format of saved views of its charts page, and making its database.

MLflow may change these in any release, so callers go on without them where they fail.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import permutations
from typing import Any, TypeAlias

from bfc_bench.extras.mlflow.curves import LOG_NMSE, PART_ERROR
from bfc_bench.extras.mlflow.replicate_summaries import BARS
from bfc_bench.utils.plain_json import digest

VIEW_TAG = "mlflow.sharedViewState."
"""Prefix of the experiment tags that hold saved views; the charts page opens a view with its key in the address."""
VIEW_LENGTH = 20_000
"""Maximum length of such a tag."""
COLOURS = 29
"""Number of colours in the palette of the charts page."""
LINES_PER_CHART = 50
"""Maximum number of lines or bars of a chart."""
Section: TypeAlias = tuple[str, bool, int, list[str]]
"""Title, whether it is open, number of columns, and metrics."""
Groups: TypeAlias = Sequence[Mapping[str, str]]
"""For each group of runs the values of the parameters that they share, by name."""


def create_database(uri: str, artifact_root: str) -> None:
    """Make MLflow's tables in an empty SQLite file. If MLflow has moved this, it makes them when it opens the file."""
    with suppress(ImportError, AttributeError, TypeError):
        from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

        SqlAlchemyStore(uri, artifact_root).engine.dispose()


def view_text(name: str, created: int, state: Mapping[str, Any]) -> str:
    """Value of the tag of a view: JSON with the state as deflated JSON in base64."""
    packed = base64.b64encode(zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": created, "updatedAt": created, "state": f"deflate;{packed}"})


def view_paths(experiment: str, tags: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The part after the server's address, by name, of the saved views whose keys start with ``prefix``."""
    texts = {tag.removeprefix(VIEW_TAG): text for tag, text in tags.items() if tag.startswith(VIEW_TAG + prefix)}
    query = "compareRunsMode=CHART&workflowType=machine_learning&viewStateShareKey="
    return {json.loads(text)["name"]: f"/#/experiments/{experiment}/runs?{query}{key}" for key, text in texts.items()}


def colour_of(group: Mapping[str, str]) -> int:
    """The place in MLflow's palette of the colour that the charts page gives to a group of runs by these parameters."""
    first = second = 0
    for character in ",".join(f"param.{name}.{value}" for name, value in group.items()):
        first = (first + ord(character)) % 255
        second = (second + first) % 255
    return (first | second << 8) % COLOURS


def grouping(groups: Groups) -> tuple[str, ...]:
    """The parameters by which to group runs so that most ``groups`` have a colour of their own; the first always.

    MLflow hashes names and values of the parameters in their order, and some of them do not tell the groups apart.
    """
    names = list(groups[0])
    several = (order for count in range(1, len(names) + 1) for order in permutations(names, count) if names[0] in order)
    return max(several, key=lambda order: len({colour_of({name: of[name] for name in order}) for of in groups}))


def page_state(clause: str, groups: Groups, sections: Iterable[Section], metrics: set[str]) -> dict[str, Any]:
    """State of the charts page: the runs averaged by group, with one chart per metric."""
    visible = {f"section-{digest(section[0], 4)}": section for section in sections if section[3]}
    cards = [_card(metric, id) for id, section in visible.items() for metric in section[3]]
    # MLflow adds a card for every metric that has none, unless there is a deleted one.
    hidden = metrics - {card["metricKey"] for card in cards}
    cards += [_card(metric, next(iter(visible)), deleted=True) for metric in sorted(hidden)]
    return {
        "searchFilter": clause,
        "orderByKey": "attributes.`start_time`",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "groupBy": {
            "aggregateFunction": "average",
            "groupByKeys": [{"mode": "param", "groupByData": name} for name in grouping(groups)],
        },
        "useGroupedValuesInCharts": True,
        "runsHiddenMode": "SHOW_ALL",
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "compareRunSections": [_section(id, *section[:3]) for id, section in visible.items()],
        "compareRunCharts": cards,
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
        "runListHidden": True,
        "selectedColumns": ["params.`replicate`", "metrics.`nmse`", f"metrics.`{LOG_NMSE}`"],
    }


def _section(id: str, title: str, is_open: bool, columns: int) -> dict[str, Any]:
    return {
        "uuid": id,
        "name": title,
        "display": is_open,
        "columns": columns,
        "cardHeight": 320 + 240 // columns,
        "isReordered": True,
        "deleted": False,
        "isGenerated": False,
    }


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
