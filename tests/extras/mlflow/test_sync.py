import math

import pytest

from bfc_bench.errors import OutputError, TrackingError
from bfc_bench.extras.mlflow.client import connection, default_uri
from bfc_bench.extras.mlflow.curves import metrics
from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.replicate_summaries import THEORY
from bfc_bench.extras.mlflow.sync import METRICS_PER_BATCH, sync
from bfc_bench.learner import Theory
from bfc_bench.store.artifacts import digests
from bfc_bench.store.store import Store


@pytest.fixture
def up_to_date(store_dir, uri):
    """Syncs rows to the store's database."""

    def call(rows, **options):
        return sync(rows, uri, store_dir, **options)

    return call


def test_every_finite_value_is_at_step_n_with_the_time_of_its_row(up_to_date, rows, uri, contents):
    report = up_to_date(rows)
    held = contents(uri)
    assert report.created == report.curves == len(held["runs"]) == 12
    assert report.points == held["values"]
    for row in rows:
        name = f"{row.label} · {row.task} · d={row.d} · r{row.replicate}"
        for metric, value in metrics(row).items():
            assert held["history"][name, row.n, metric] == value
    run = held["runs"]["net · teacher · d=10 · r1"]
    assert run.info.status == "FINISHED"
    assert run.info.end_time == round(1000 * max(row.finished_at for row in rows if row.replicate == 1))
    assert run.data.tags["bfc.kind"] == "curve"
    assert run.data.tags["bfc.version"] == "1"
    assert "step = n" in held["tags"]["mlflow.note.content"]


def test_second_sync_adds_nothing(up_to_date, rows, uri, contents):
    up_to_date(rows)
    before = contents(uri)
    report = up_to_date(rows)
    assert (report.created, report.points, report.unchanged) == (0, 0, 12)
    assert contents(uri) | {"runs": 0, "all": 0} == before | {"runs": 0, "all": 0}


def test_later_rows_extend_the_same_runs(up_to_date, rows, uri, contents):
    up_to_date([row for row in rows if row.n < 800], complete=False)
    before = contents(uri)
    report = up_to_date(rows, complete=False)
    after = contents(uri)
    assert report.created == 0
    assert report.points == sum(len(metrics(row)) for row in rows if row.n == 800)
    assert {run.info.run_id for run in before["runs"].values()} == {run.info.run_id for run in after["runs"].values()}
    assert before["history"].items() <= after["history"].items()
    assert after["values"] == before["values"] + report.points


def test_a_point_whose_value_changed_leaves_only_the_new_value(up_to_date, row, uri, contents):
    up_to_date([row("net", n=100), row("net", n=200)])
    up_to_date([row("net", n=100), row("net", n=200, nmse=0.125, finished_at=1_800_000_000.0)])
    held = contents(uri)
    (run,) = held["runs"].values()
    assert held["history"][run.info.run_name, 200, "nmse"] == 0.125
    assert held["values"] == len(held["history"])


def test_a_retried_failure_keeps_its_run_and_loses_its_failure_tag(up_to_date, row, uri, contents):
    failed = row("net", n=400, status="timeout", reason="over 120 s", nmse=None)
    up_to_date([failed])
    (first,) = contents(uri)["runs"].values()
    assert (first.info.status, first.data.tags["bfc.failures"]) == ("FAILED", "n=400: timeout over 120 s")
    up_to_date([row("net", n=400)])
    (second,) = contents(uri)["runs"].values()
    assert second.info.run_id == first.info.run_id
    assert (second.info.status, second.data.tags["bfc.failures"]) == ("FINISHED", "")


def test_values_that_are_not_finite_are_dropped(up_to_date, row, uri, contents):
    """Only stages and what is chosen may have them: the other columns of a row are checked."""
    errors = {100: math.nan, 200: math.inf, 400: 0.5}
    up_to_date([row("net", n=n, stages={"one": {"nmse": error}}) for n, error in errors.items()])
    steps = [step for _, step, metric in contents(uri)["history"] if metric == "stage/one/nmse"]
    assert steps == [400]


def test_more_options_and_metrics_than_one_request_may_hold(up_to_date, row, uri, contents):
    options = {f"option_{i}": i for i in range(120)}
    errors = {f"S{i}": 0.5 for i in range(METRICS_PER_BATCH // 3)}
    up_to_date([row("net", n=n, options=options, feature_errors=errors) for n in range(100, 500, 100)])
    (run,) = contents(uri)["runs"].values()
    assert sum(key.startswith("opt.") for key in run.data.params) == 120
    assert len(run.data.metrics) > METRICS_PER_BATCH // 3


def test_an_ill_behaved_curve_has_a_tag_with_both_crossings(up_to_date, row, uri, contents):
    errors = {25: 1.0, 50: 0.4, 100: 0.05, 200: 0.6, 400: 0.5, 800: 0.05, 1600: 0.02}
    up_to_date([row("net", n=n, nmse=error) for n, error in errors.items()])
    (run,) = contents(uri)["runs"].values()
    assert run.data.tags["bfc.ill_behaved"].startswith("0.1: first at ")
    assert "last at " in run.data.tags["bfc.ill_behaved"]


def test_thresholds_and_exponents_are_at_step_0_and_follow_new_rows(up_to_date, row, uri, contents):
    def rows(dims, time):
        sizes = [25, 50, 100, 200, 400, 800, 1600, 3200]
        cells = [{"d": d, "n": n, "replicate": r} for d in dims for n in sizes for r in range(3)]
        return [row("net", finished_at=time, **cell) for cell in cells]

    up_to_date(rows([5, 10], 1.8e9))
    later = rows([5, 10, 20, 40], 1.7e9)  # the clock was set back
    up_to_date(later)
    assert up_to_date(later).points == 0
    runs = contents(uri)["runs"]
    latest = runs["net · teacher · d=40 · r0"].data.metrics
    assert runs["net · teacher · d=5 · r0"].data.metrics["fit/exponent"] == latest["fit/exponent"]
    assert latest["fit/exponent_lo"] <= latest["fit/exponent"] <= latest["fit/exponent_hi"]
    # NMSE = (n / 2d)^-1.5: N*(0.1) = 2 d 0.1^(-2/3).
    assert latest["nstar/0.1"] == pytest.approx(2 * 40 * 0.1 ** (-2 / 3), rel=0.2)
    assert latest["fit/exponent"] == pytest.approx(1.0, abs=0.15)


def test_the_expected_error_is_at_step_n_of_every_run_of_the_curve_once(up_to_date, row, uri, contents):
    rows = [row(label, n=n, replicate=r) for label in ("net", "kernel") for n in (100, 200) for r in range(2)]
    theories = {("teacher", 10, "kernel"): Theory(lambda n: 5 / n, "this file")}

    def expected():
        return {key: value for key, value in contents(uri)["history"].items() if key[2] == THEORY}

    up_to_date(rows, complete=False)
    assert not expected()
    up_to_date(rows, theories=theories)
    assert expected() == {(f"kernel · teacher · d=10 · r{r}", n, THEORY): 5 / n for r in range(2) for n in (100, 200)}
    before = contents(uri)["values"]
    report = up_to_date(rows, theories=theories)
    assert (report.created, report.points, contents(uri)["values"]) == (0, 0, before)
    up_to_date([*rows, row("kernel", n=400)], theories=theories)
    held = contents(uri)
    assert len(expected()) == 5
    assert held["values"] == len(held["history"])


def test_report_is_one_run_per_session_and_is_replaced_when_its_content_changes(
    store_dir, uri, report_logged, tmp_path, contents
):
    directory = tmp_path / "report"
    (directory / "figures").mkdir(parents=True)
    (directory / "report.html").write_text("<h1>Report</h1>")
    (directory / "figures" / "curves.png").write_bytes(b"\x89PNG")
    first = report_logged(uri, directory, "s1")
    assert report_logged(uri, directory, "s1") == first
    second = report_logged(uri, directory, "s1", "other")
    other = report_logged(uri, directory, "s2")
    assert len({first, second, other}) == 3
    runs = contents(uri)["runs"]
    assert {run.info.run_id for run in runs.values()} == {second, other}
    assert runs["report · s1"].data.tags["bfc.kind"] == "report"
    held = {str(path.relative_to(store_dir)) for path in (store_dir / "mlflow-artifacts").rglob("*") if path.is_file()}
    for name in ("report.html", "figures/curves.png", "tables/summary.json"):
        assert any(path.endswith(f"{second}/artifacts/{name}") for path in held)


def test_artifacts_of_cells_are_in_the_run_of_their_curve(up_to_date, row, store_dir, uri, contents):
    def cell(n, **files):
        named = {f"{name}.json": str(content).encode() for name, content in files.items()}
        made = row("net", n=n, artifacts=digests(named), finished_at=1e9 + n + sum(files.values()))
        with Store(store_dir, write=True) as store:
            store.put([(made, "", "", "")], {made.cell: named})
        return made

    def logged():
        run = contents(uri)["runs"]["net · teacher · d=10 · r0"]
        place = store_dir / "mlflow-artifacts" / run.info.run_id / "artifacts"
        return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}

    first, plain = cell(100, a=1, b=2), row("net", n=200)
    assert up_to_date([first, plain]).created == 1
    assert logged() == {"n=100/a.json": "1", "n=100/b.json": "2"}
    assert up_to_date([first, plain]).unchanged == 1
    assert up_to_date([first, plain, cell(400, a=3)]).created == 0
    assert logged() == {"n=100/a.json": "1", "n=100/b.json": "2", "n=400/a.json": "3"}
    assert up_to_date([cell(100, a=5), plain]).created == 1  # made again: MLflow keeps what it was once given
    assert logged() == {"n=100/a.json": "5"}


def test_uri_is_the_argument_then_the_environment_then_the_store(tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert default_uri(tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://a")
    assert default_uri(tmp_path) == "http://a"
    assert default_uri(tmp_path, "http://b") == "http://b"


def test_the_database_is_in_the_store_whatever_the_store_is_called(rows, store_dir, tmp_path):
    odd = store_dir.rename(tmp_path / "a?b #c%20d")
    for _ in range(2):
        report = sync(rows, database_uri(odd), odd)
    assert report.unchanged == report.curves
    assert {path.name for path in tmp_path.iterdir()} == {odd.name}


def test_runs_of_former_options_leave_the_saved_views_and_come_back_with_them(up_to_date, row, uri, contents):
    """What the store calls current is what the views show: one label stands for one set of options."""
    old = [row("net", n=n, options={"width": 8}) for n in (100, 200)]
    new = [row("net", n=n, options={"width": 16}) for n in (100, 200)]

    def kinds():
        runs = contents(uri)["all"]
        return {run.data.params["opt.width"]: run.data.tags["bfc.kind"] for run in runs}

    up_to_date(old)
    assert kinds() == {"8": "curve"}
    assert up_to_date(new, complete=False).retired == 0  # a run in progress takes nothing away
    assert up_to_date(new).retired == 1
    assert kinds() == {"8": "retired", "16": "curve"}
    assert (again := up_to_date(new)).retired == again.created == 0
    report = up_to_date(old)
    assert (report.created, report.retired) == (0, 1)
    assert kinds() == {"8": "curve", "16": "retired"}


def test_a_sync_repairs_what_mlflow_lost(faulty, suite_file, store_dir, uri, cli):
    command = [suite_file(learner=[{"name": "mean"}]), "--store", store_dir]
    assert cli("run", *command, "--executor", "serial", "--no-mlflow").returncode == 0
    assert ": 1 curve: 1 new" in cli("sync", *command).stdout
    with connection(uri) as client:
        experiment = client.get_experiment_by_name("bfc/tiny@1")
        (curve,) = client.search_runs([experiment.experiment_id], "tags.`bfc.kind` = 'curve'")
        client.delete_run(curve.info.run_id)
    assert ": 1 curve: 1 new" in cli("sync", *command).stdout
    assert cli("run", *command, "--set", "replicates=2", "--executor", "serial", "--no-mlflow").returncode == 0
    assert ": 2 curves: 1 new, 1 unchanged" in cli("sync", *command).stdout


def test_a_store_that_cannot_be_written_is_not_synced(row, store_dir, uri):
    (store_dir / "file").touch()
    with pytest.raises(OutputError, match="cannot be made"):
        sync([row("net")], uri, store_dir / "file" / "store")


@pytest.mark.parametrize(("status", "said"), [(401, "MLFLOW_TRACKING_PASSWORD"), (403, "ask the administrator")])
def test_a_server_that_refuses_a_user_is_told_of_in_one_plain_line(
    status, said, rows, store_dir, refusing, monkeypatch
):
    """MLflow's answer names its interface and a page about it; what to do is not in it."""

    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ada")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "not-the-one")
    address = f"http://{refusing(status)}"
    with pytest.raises(TrackingError, match=said) as error:
        sync(rows, address, store_dir)
    assert str(error.value).startswith(f"MLflow at {address}: ")
    assert len(str(error.value).splitlines()) == 1
    assert "not-the-one" not in str(error.value)


def test_a_server_that_does_not_answer_is_named_in_a_short_line(rows, store_dir, free_port):
    uri = f"http://127.0.0.1:{free_port}"
    with pytest.raises(TrackingError) as error:
        sync(rows, uri, store_dir)
    assert str(error.value).startswith(f"MLflow at {uri}: the server does not answer: Connection refused. Start it")
    assert "--tracking-uri" in str(error.value)
