"""Two stores, of two people, log the same suite to one MLflow: nobody's run is changed but one's own."""

from unittest.mock import Mock

import pytest

from bfc_bench.errors import TrackingError
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.sync import sync


@pytest.fixture
def logs(uri, tmp_path, monkeypatch):
    """Logs rows from a person's own store to one database."""

    def call(person, rows, **options):
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", person)
        return sync(rows, uri, tmp_path / person, **options)

    return call


@pytest.fixture
def shown(uri):
    """Owners and ids of the runs that the saved views show, sorted by name."""

    def call():
        with connection(uri) as client:
            experiment = client.get_experiment_by_name("bfc/toy@1").experiment_id
            runs = client.search_runs([experiment], "tags.`bfc.kind` = 'curve'", max_results=1000)
        named = sorted((run.info.run_name, run.data.tags["bfc.owner"], run.info.run_id) for run in runs)
        return [(owner, id) for _, owner, id in named]

    return call


def test_each_person_has_a_run_of_each_curve_and_changes_no_other(logs, shown, row):
    logs("ada", [row("net"), row("kernel")])
    assert logs("bob", [row("net", nmse=0.5)]).created == 1
    before = shown()
    assert [owner for owner, _ in before] == ["ada", "ada", "bob"]
    assert logs("ada", [row("net"), row("kernel")]).unchanged == 2
    assert logs("bob", [row("net", nmse=0.5)]).unchanged == 1
    assert shown() == before
    assert logs("bob", [row("net", nmse=0.25)]).created == 1  # in the place of bob's run
    assert logs("bob", [row("linear")]).retired == 1
    assert {run for run in shown() if run[0] == "ada"} == set(before[:2])


def test_a_run_that_its_owner_may_not_delete_is_hidden_and_another_error_is_raised(logs, shown, row, monkeypatch):
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import PERMISSION_DENIED

    logs("ada", [row("net")])
    delete = Mock(side_effect=MlflowException("Permission denied", error_code=PERMISSION_DENIED))
    monkeypatch.setattr(MlflowClient, "delete_run", delete)
    for created in (1, 0):
        assert logs("ada", [row("net", nmse=0.5)]).created == created
        assert len(shown()) == 1
    delete.side_effect = MlflowException("broken")
    with pytest.raises(TrackingError, match="broken"):
        logs("ada", [row("net", nmse=0.25)])
