"""MLflow's internals are used with the releases that they are known of, and nothing depends on them."""

import logging
import tomllib
from pathlib import Path

import pytest

from bfc_bench.extras.mlflow import mlflow_internals
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.mlflow_internals import END, FIRST, VIEW_TAG, is_known
from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.extras.mlflow.views import saved_views

# SQLAlchemy about MLflow's own queries.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")


def test_the_known_releases_are_those_that_the_package_requires():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    required = f"mlflow>={FIRST[0]}.{FIRST[1]},<{END[0]}"
    assert required in project["optional-dependencies"]["mlflow"]
    assert END[1] == 0
    assert is_known()


@pytest.mark.parametrize(
    ("release", "known"),
    [
        ("2.22.0", False),
        ("3.14.9", False),
        ("3.15.0", True),
        ("3.99.1rc0", True),
        ("4.0.0rc1", False),
        ("10.16", False),
    ],
)
def test_releases_3_15_to_3_x_are_known(release, known, monkeypatch):
    monkeypatch.setattr(mlflow_internals, "installed_version", lambda name: release)
    assert is_known() == known


def fail(*_):
    raise AttributeError("moved")


@pytest.mark.parametrize(
    ("changed", "message"),
    [({"installed_version": lambda name: "4.0.0"}, "MLflow 4.0.0 is unknown"), ({"is_known": fail}, "moved")],
)
def test_without_the_internals_a_sync_works_without_views(changed, message, rows, tmp_path, monkeypatch, caplog):
    for name, function in changed.items():
        monkeypatch.setattr(mlflow_internals, name, function)
    uri = database_uri(tmp_path)
    with caplog.at_level(logging.DEBUG, "bfc_bench"):
        report = sync(rows, uri, suite="toy", version=1, store_dir=tmp_path)
    assert (report.created, report.views) == (18, [])
    assert [record.getMessage() for record in caplog.records if record.name == mlflow_internals.__name__] == [
        f"MLflow makes its database itself: {message}",
        f"no saved views: {message}",
    ]
    with connection(uri) as client:
        experiment = client.get_experiment_by_name("bfc/toy@1")
        assert len(client.search_runs([experiment.experiment_id], max_results=100)) == 18
    assert not any(tag.startswith(VIEW_TAG) for tag in experiment.tags)
    assert saved_views(uri, suite="toy", version=1) == []
    assert sync(rows, uri, suite="toy", version=1, store_dir=tmp_path).unchanged == 18
