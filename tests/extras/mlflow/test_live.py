import os
import signal
import threading
from types import SimpleNamespace

import pytest
from waiting import wait_until

from bfc_bench.extras.mlflow import live as live_module
from bfc_bench.extras.mlflow.live import MlflowTracker
from bfc_bench.extras.mlflow.sync import sync


@pytest.fixture
def tracker(store_dir, monkeypatch):
    """Makes trackers with short rests; their warnings are in ``warnings``. Waits for their threads at the end."""
    monkeypatch.setattr(live_module, "INTERVAL", 0.05)

    def make(uri, earlier=(), patience=60.0):
        warnings = []
        monkeypatch.setattr(live_module, "PATIENCE", patience)
        found = MlflowTracker(uri, warn=warnings.append)
        found.warnings = warnings
        store = SimpleNamespace(directory=store_dir, rows=lambda suite, version: list(earlier))
        found.session = SimpleNamespace(suite="toy", version=1, store=store)
        return found

    yield make
    for thread in threading.enumerate():
        if thread.name == "mlflow":
            thread.join(60)


def finish(tracker):
    """The end of the run, in a thread, so that a test fails instead of hanging."""
    thread = threading.Thread(target=tracker.bfc_run_finished, args=(tracker.session,), daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()


def follow(tracker, rows):
    """A run that makes these rows, from its beginning to its end."""
    tracker.bfc_run_started(tracker.session)
    for row in rows:
        tracker.bfc_result(row)
    finish(tracker)


def test_a_run_ends_with_everything_logged_rows_of_earlier_runs_included(tracker, rows, store_dir, uri, contents):
    environment = dict(os.environ)
    live = tracker(uri, earlier=rows[:41], patience=120)  # a row is in the store when a listener receives it
    follow(live, rows[40:])
    assert live.warnings == []
    assert live.error is None
    assert dict(os.environ) == environment
    assert sync(rows, uri, store_dir, complete=False).unchanged == len(contents(uri)["runs"]) == 12


def test_several_runs_of_one_command_are_followed_one_after_the_other(tracker, rows, store_dir, uri, contents):
    """As those of ``--until-decided`` are; after a failure none is followed any more."""
    held = []
    live = tracker(uri, earlier=held, patience=120)
    live.session.store.rows = lambda suite, version: list(held)
    for part in (rows[:40], rows[40:]):
        live.bfc_run_started(live.session)
        for row in part:
            held.append(row)
            live.bfc_result(row)
        finish(live)
    assert live.warnings == []
    assert sync(rows, uri, store_dir, complete=False).unchanged == len(contents(uri)["runs"]) == 12

    (store_dir / "file").touch()
    broken = tracker(f"sqlite:///{store_dir}/file/mlflow.db", earlier=rows, patience=120)
    for _ in range(2):
        follow(broken, rows[:1])
    assert broken.error is not None
    assert len(broken.warnings) == 1


def test_a_run_without_new_rows_asks_nothing(tracker, rows, monkeypatch):
    live = tracker("http://127.0.0.1:1", earlier=rows)
    follow(live, [])
    monkeypatch.setattr("bfc_bench.extras.mlflow.sync.sync_suite", lambda suite, uri: pytest.fail("it was asked"))
    assert live.bfc_reported(None) == "bfc-bench ui"
    assert live.warnings == []


def test_a_server_that_is_killed_costs_one_warning_and_sync_makes_up_for_it(
    tracker, rows, store_dir, uri, contents, served
):
    url, server = served
    live = tracker(url)
    live.bfc_run_started(live.session)
    for row in rows[:30]:
        live.bfc_result(row)

    def runs_logged():
        try:
            return len(contents(uri)["runs"])
        except Exception:
            return 0

    wait_until(runs_logged)
    os.killpg(server.pid, signal.SIGKILL)
    for row in rows[30:]:
        live.bfc_result(row)
    finish(live)
    (warning,) = live.warnings
    assert live.error is not None
    assert url in warning
    assert "bfc-bench sync toy" in warning
    first = sync(rows, uri, store_dir)
    assert first.points > 0
    held = contents(uri)
    assert held["values"] == len(held["history"])
    assert {(name, step) for name, step, metric in held["history"] if metric == "nmse"} == {
        (f"{row.label} · {row.task} · d={row.d} · r{row.replicate}", row.n) for row in rows
    }
    again = sync(rows, uri, store_dir)
    assert (again.created, again.points) == (0, 0)
    assert contents(uri)["values"] == held["values"]
