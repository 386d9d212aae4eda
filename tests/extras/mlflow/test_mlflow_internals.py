"""MLflow's internals may change in any of its releases: nothing depends on them."""

from bfc_bench.extras.mlflow import database, views
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.extras.mlflow.views import VIEW_TAG, saved_views


def raising(error):
    def fail(*_):
        raise error

    return fail


def test_without_the_internals_a_sync_works_without_views(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "create_database", lambda *_: None)
    monkeypatch.setattr(views, "view_text", raising(RuntimeError("unsupported")))
    monkeypatch.setattr(views, "view_paths", raising(AttributeError("moved")))
    uri = database_uri(tmp_path)
    assert sync(rows, uri, tmp_path).created == 12
    with connection(uri) as client:
        experiment = client.get_experiment_by_name("bfc/toy@1")
        assert len(client.search_runs([experiment.experiment_id], max_results=100)) == 12
    assert not any(tag.startswith(VIEW_TAG) for tag in experiment.tags)
    assert saved_views(uri, suite="toy", version=1) == {}
    assert sync(rows, uri, tmp_path).unchanged == 12
