"""Two stores, of two people, log the same suite to one MLflow: nobody's run is changed but one's own."""

from dataclasses import replace

import pytest

from bfc_bench.extras.mlflow import sync as sync_module
from bfc_bench.extras.mlflow.client import connection
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.owner import remove
from bfc_bench.extras.mlflow.sync import sync


@pytest.fixture
def logs(store_dir, tmp_path, monkeypatch):
    """Logs rows from a person's own store to one database."""

    def call(person, rows, **options):
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", person)
        return sync(rows, database_uri(store_dir), tmp_path / person, **options)

    return call


@pytest.fixture
def shown(store_dir):
    """Owners and ids of the runs that the saved views show, sorted by name."""

    def call():
        with connection(database_uri(store_dir)) as client:
            experiment = client.get_experiment_by_name("bfc/toy@1").experiment_id
            runs = client.search_runs([experiment], "tags.`bfc.kind` = 'curve'", max_results=1000)
        named = sorted((run.info.run_name, run.data.tags["bfc.owner"], run.info.run_id) for run in runs)
        return [(owner, id) for _, owner, id in named]

    return call


def by_another(rows, **changes):
    """The same results as another person has them: at other times, on a slower machine."""
    return [replace(row, finished_at=row.finished_at + 1e6, fit_cpu_seconds=3.0, **changes) for row in rows]


def test_equal_results_are_in_one_run_per_curve_and_a_second_sync_is_silent(logs, shown, rows):
    assert logs("ada", rows).created == 12
    before = shown()
    for _ in range(2):
        report = logs("bob", by_another(rows))
        assert (report.created, report.points, report.retired, report.elsewhere) == (0, 0, 0, 12)
        assert (report.curves, logs("ada", rows).unchanged) == (12, 12)
    assert shown() == before
    assert str(report) == "12 curves: 0 new, 0 unchanged, 0 values logged, 12 in runs of another store"


def test_different_results_are_in_a_run_of_each(logs, shown, row):
    logs("ada", [row("net")])
    assert logs("bob", [row("net", nmse=0.5)]).created == 1
    before = shown()
    assert [owner for owner, _ in before] == ["ada", "bob"]
    for person, nmse in (("ada", None), ("bob", 0.5)):
        report = logs(person, [row("net", **({"nmse": nmse} if nmse else {}))])
        assert (report.created, report.unchanged, report.elsewhere) == (0, 1, 0)
    assert shown() == before
    assert logs("bob", [row("net", nmse=0.25)]).created == 1  # in the place of bob's run
    assert [owner for owner, _ in shown()] == ["ada", "bob"]
    assert shown()[0] == before[0]


def test_a_suite_that_one_person_has_in_part_retires_nothing_of_the_other(logs, shown, rows):
    logs("ada", rows)
    before = shown()
    assert logs("bob", [row for row in rows if row.label == "net"]).retired == 0
    assert shown() == before


def test_of_two_runs_the_one_with_fewer_points_goes_when_its_owner_logs_again(logs, shown, rows):
    few = [row for row in rows if row.n < 800]
    logs("ada", few)
    assert logs("bob", rows).created == 12
    assert len(shown()) == 24
    assert logs("ada", few).elsewhere == 12
    assert [owner for owner, _ in shown()] == ["bob"] * 12
    assert logs("ada", few).elsewhere == 12


@pytest.mark.parametrize("again", [("ada", "bob"), ("bob", "ada")])
def test_two_people_who_log_at_the_same_moment_end_with_one_run_per_curve(again, logs, shown, rows, monkeypatch):
    logs("ada", rows, complete=False)
    with monkeypatch.context() as before:
        before.setattr(sync_module, "find_runs", lambda *_: [])  # bob has looked before ada's runs were there
        logs("bob", rows, complete=False)
    assert len(shown()) == 24
    for person in again:
        logs(person, rows)
    assert len(shown()) == 12
    assert all(logs(person, rows).created == 0 for person in again)
    assert len(shown()) == 12


def test_a_run_that_its_owner_may_not_delete_is_hidden(logs, shown, row, monkeypatch):
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import PERMISSION_DENIED

    logs("ada", [row("net")])

    def refuse(self, run_id):
        raise MlflowException("Permission denied", error_code=PERMISSION_DENIED)

    monkeypatch.setattr(MlflowClient, "delete_run", refuse)
    for created in (1, 0):
        assert logs("ada", [row("net", nmse=0.5)]).created == created
        assert len(shown()) == 1


def test_another_error_of_a_deletion_is_raised(store_dir, monkeypatch):
    from mlflow import MlflowClient
    from mlflow.exceptions import MlflowException

    class Run:
        class info:
            run_id = "r"

    monkeypatch.setattr(MlflowClient, "delete_run", lambda *_: (_ for _ in ()).throw(MlflowException("broken")))
    with connection(database_uri(store_dir)) as client, pytest.raises(MlflowException, match="broken"):
        remove(client, Run)
