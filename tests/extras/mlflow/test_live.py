import os
import signal
import socket
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bfc_bench.extras.mlflow.database import database_uri
from bfc_bench.extras.mlflow.live import MlflowTracker
from bfc_bench.extras.mlflow.server import serve
from bfc_bench.extras.mlflow.sync import sync
from bfc_bench.extras.mlflow.sync_cache import is_current

# SQLAlchemy about MLflow's own queries.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning")


@pytest.fixture
def tracker(store_dir):
    """Makes trackers with short rests; their warnings are in ``warnings``. Waits for their threads at the end."""

    def make(uri, earlier=(), **options):
        warnings = []
        found = MlflowTracker(uri, **{"warn": warnings.append, "interval": 0.05, **options})
        found.warnings = warnings
        store = SimpleNamespace(directory=store_dir, rows=lambda suite, version: list(earlier))
        found.session = SimpleNamespace(suite="toy", version=1, store=store)
        return found

    yield make
    for thread in threading.enumerate():
        if thread.name == "mlflow":
            thread.join(60)


def finish(tracker):
    """The end of the run, in a thread: the test fails rather than hangs where it would not return."""
    thread = threading.Thread(target=tracker.bfc_run_finished, args=(None,), daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert condition()


def test_a_run_ends_with_everything_logged_rows_of_earlier_runs_included(tracker, rows, store_dir, contents):
    uri = database_uri(store_dir)
    environment = dict(os.environ)
    live = tracker(uri, earlier=rows[:40], patience=120)
    live.bfc_run_started(live.session)
    for row in rows[40:]:
        live.bfc_result(row)
    finish(live)
    assert live.warnings == []
    assert not live.failed
    assert dict(os.environ) == environment
    assert sync(rows, uri, suite="toy", version=1, store_dir=store_dir).unchanged == len(contents(uri)["runs"]) == 18


def test_several_runs_of_one_command_are_followed_one_after_the_other(tracker, rows, store_dir, contents):
    """As those of ``--until-decided`` are; after a failure none is followed any more."""
    uri, held = database_uri(store_dir), []
    live = tracker(uri, earlier=held, patience=120)
    live.session.store.rows = lambda suite, version: list(held)
    for part in (rows[:40], rows[40:]):
        live.bfc_run_started(live.session)
        for row in part:
            live.bfc_result(row)
        finish(live)
        held += part
    assert live.warnings == []
    assert sync(rows, uri, suite="toy", version=1, store_dir=store_dir).unchanged == len(contents(uri)["runs"]) == 18

    (store_dir / "file").touch()
    broken = tracker(f"sqlite:///{store_dir}/file/mlflow.db", earlier=rows, patience=120)
    for _ in range(2):
        broken.bfc_run_started(broken.session)
        finish(broken)
    assert broken.failed
    assert len(broken.warnings) == 1


def test_a_run_without_work_does_not_ask_an_mlflow_that_is_up_to_date(tracker, rows, store_dir):
    with serve(store_dir) as server:
        first = tracker(server.url, earlier=rows, patience=120)
        first.bfc_run_started(first.session)
        finish(first)
        assert not first.failed
    again = tracker(server.url, earlier=rows)  # the server is gone: whoever asked it would fail
    again.bfc_run_started(again.session)
    finish(again)
    assert again.warnings == []
    for earlier, new in ((rows[:-1], []), (rows[:-1], rows[-1:]), (rows, rows[-1:])):
        other = tracker(server.url, earlier=earlier)
        other.bfc_run_started(other.session)
        for row in new:
            other.bfc_result(row)
        finish(other)
        assert len(other.warnings) == 1


def test_only_the_rows_of_the_last_complete_sync_are_known_to_be_logged(rows, store_dir):
    uri, suite = database_uri(store_dir), {"suite": "toy", "version": 1}
    sync(rows[:40], uri, **suite, store_dir=store_dir, complete=False)
    assert not is_current(store_dir, uri, *suite.values(), rows[:40])
    sync(rows, uri, **suite, store_dir=store_dir)
    assert is_current(store_dir, uri, *suite.values(), rows[::-1])
    assert not is_current(store_dir, "http://127.0.0.1:1", *suite.values(), rows)
    assert not is_current(store_dir, uri, "toy", 2, rows)
    assert not is_current(store_dir, uri, *suite.values(), [*rows[1:], replace(rows[0], finished_at=0.0)])
    (store_dir / "mlflow.db").unlink()
    assert not is_current(store_dir, uri, *suite.values(), rows)


def test_a_server_killed_in_the_middle_costs_one_warning_and_sync_makes_up_for_it(tracker, rows, store_dir, contents):
    uri = database_uri(store_dir)
    with serve(store_dir) as server:
        live = tracker(server.url)
        live.bfc_run_started(live.session)
        for row in rows[:30]:
            live.bfc_result(row)

        def runs_logged():
            try:
                return len(contents(uri)["runs"])
            except Exception:
                return 0

        wait_until(runs_logged)
        os.killpg(server.process.pid, signal.SIGKILL)
        for row in rows[30:]:
            live.bfc_result(row)
        finish(live)
    (warning,) = live.warnings
    assert live.failed
    assert server.url in warning
    assert "bfc-bench sync toy" in warning
    first = sync(rows, uri, suite="toy", version=1, store_dir=store_dir)
    assert first.points > 0
    held = contents(uri)
    assert held["values"] == len(held["history"])
    assert {(name, step) for name, step, metric in held["history"] if metric == "nmse"} == {
        (f"{row.label} · {row.task} · d={row.d} · r{row.replicate}", row.n) for row in rows
    }
    again = sync(rows, uri, suite="toy", version=1, store_dir=store_dir)
    assert (again.created, again.points) == (0, 0)
    assert contents(uri)["values"] == held["values"]


def test_a_closed_port_costs_one_warning(tracker, rows, free_port):
    live = tracker(f"http://127.0.0.1:{free_port}")
    live.bfc_run_started(live.session)
    wait_until(lambda: live.bfc_result(rows[0]) or live.warnings)
    for row in rows[1:]:
        live.bfc_result(row)
    finish(live)
    assert len(live.warnings) == 1


def test_a_server_that_accepts_and_never_answers_does_not_hold_the_run(tracker, rows):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        live = tracker(f"http://127.0.0.1:{silent.getsockname()[1]}", patience=0.5)
        live.bfc_run_started(live.session)
        for row in rows:
            live.bfc_result(row)
        finish(live)
        assert len(live.warnings) == 1


def test_a_run_that_never_started_has_nothing_to_finish(tracker):
    live = tracker("http://127.0.0.1:1")
    finish(live)
    assert live.warnings == []
