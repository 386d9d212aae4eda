import base64
import json
import zlib
from unittest.mock import Mock

import pytest

from bfc_bench.extras.mlflow import database, views
from bfc_bench.extras.mlflow.client import connection, ensure_experiment
from bfc_bench.extras.mlflow.curves import metrics
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.replicate_summaries import BARS
from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.extras.mlflow.views import VIEW_LENGTH, VIEW_TAG, colour_of, save_views, saved_views, view_state


@pytest.fixture
def save(store_dir, uri):
    """Saves the views of rows; gives them with the experiment's view tags."""

    def call(rows):
        with connection(uri) as client:
            experiment = ensure_experiment(client, uri, "toy", 1, store_dir)
            save_views(client, experiment, rows)
            tags = client.get_experiment(experiment).tags
        return saved_views(uri, suite="toy", version=1), {
            key: text for key, text in tags.items() if key.startswith(VIEW_TAG)
        }

    return call


def unpack(text):
    envelope = json.loads(text)
    assert envelope["state"].startswith("deflate;")
    return json.loads(zlib.decompress(base64.b64decode(envelope["state"].removeprefix("deflate;"))))


def test_one_view_per_task_and_dimension_that_selects_its_runs(save, rows, row):
    rows += [row("net", d=20), row("kernel", d=20)]
    found, tags = save(rows)
    assert list(found) == ["student · d=10", "teacher · d=10", "teacher · d=20"]
    keys = [path.partition("viewStateShareKey=")[2] for path in found.values()]
    assert {VIEW_TAG + key for key in keys} == set(tags)
    state = unpack(tags[VIEW_TAG + keys[-1]])
    for clause in ("tags.`bfc.kind` = 'curve'", "params.task = 'teacher'", "params.d = '20'"):
        assert clause in state["searchFilter"]


def test_every_metric_has_a_card_and_lines_have_logarithmic_axes(rows):
    state = view_state(rows)
    cards = {card["metricKey"]: card for card in state["compareRunCharts"]}
    assert set(cards) == {name for row in rows for name in metrics(row)} | set(BARS)
    assert not cards["nmse"]["deleted"]
    assert cards["nmse_trimmed"]["deleted"]
    sections = {section["uuid"] for section in state["compareRunSections"]}
    for name, card in cards.items():
        assert card["metricSectionId"] in sections
        if name not in BARS and not card["deleted"]:
            assert (card["xAxisScaleType"], card["scaleType"]) == ("log", "linear" if name == "log10_nmse" else "log")


def test_errors_that_may_be_negative_have_a_linear_axis_and_a_section(row):
    stages = {"one": {"nmse": 0.5, "part_errors": {"degree1": 0.1}}}
    rows = [row("net", part_errors={"degree1": -0.001}, stages=stages)]
    state = view_state(rows)
    cards = {card["metricKey"]: card for card in state["compareRunCharts"]}
    for name in ("part_error/degree1", "stage/one/part_error/degree1"):
        assert (cards[name]["xAxisScaleType"], cards[name]["scaleType"]) == ("log", "linear")
    sections = {section["uuid"]: section["name"] for section in state["compareRunSections"]}
    assert sections[cards["part_error/degree1"]["metricSectionId"]] == "Errors in parts of the target against n"


def test_the_colour_of_a_group_is_that_of_mlflow():
    """Values of the charts page's own function, for a palette of 29 colours."""
    assert colour_of({"label": "net"}) == 2
    assert colour_of({"label": "Größe", "d": "10"}) == 22


def test_the_learners_of_a_view_have_different_colours_while_there_are_any(row):
    labels = ["quad-densenet", "layerwise-sum", "layerwise-signed", "kernel-rbf", "kernel-poly2", "ntk-with-squares",
              "kernel-nngp", "random-forest"]  # fmt: skip
    assert len({colour_of({"label": label}) for label in labels}) < len(labels)
    keys = [key["groupByData"] for key in view_state([row(label) for label in labels])["groupBy"]["groupByKeys"]]
    groups = [{"label": label, "learner": label, "task": "teacher", "d": "10"} for label in labels]
    assert len({colour_of({key: group[key] for key in keys}) for group in groups}) == len(labels)
    one = view_state([row("net")])["groupBy"]["groupByKeys"]
    assert one == [{"mode": "param", "groupByData": "label"}]


def test_views_stay_under_the_limit_of_a_tag_for_many_layers_and_stages(save, row):
    stages = {f"stage {i}": {"nmse": 0.5, "feature_errors": {f"S{k}": 0.5 for k in range(9)}} for i in range(9)}
    _, tags = save([row("net", stages=stages)])
    (text,) = tags.values()
    assert len(text) < VIEW_LENGTH


def test_without_the_internals_a_sync_works_without_views(rows, tmp_path, monkeypatch):
    """Any release of MLflow may change them."""
    monkeypatch.setattr(database, "create_database", lambda *_: None)
    monkeypatch.setattr(views, "view_text", Mock(side_effect=RuntimeError("unsupported")))
    uri = database_uri(tmp_path)
    assert sync(rows, uri, tmp_path).created == 12
    with connection(uri) as client:
        experiment = client.get_experiment_by_name("bfc/toy@1")
        assert len(client.search_runs([experiment.experiment_id], max_results=100)) == 12
    assert not any(tag.startswith(VIEW_TAG) for tag in experiment.tags)
    assert saved_views(uri, suite="toy", version=1) == {}
    assert sync(rows, uri, tmp_path).unchanged == 12
