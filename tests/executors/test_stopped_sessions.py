"""Time for which a session and its workers are stopped counts against no limit."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from stored_rows import read_results


def send(session: psutil.Process, number: int) -> None:
    """A signal to a session and all that it has started, the session first."""
    for process in (session, *session.children(recursive=True)):
        process.send_signal(number)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_a_tree_of_processes_that_was_stopped_goes_on_without_a_timeout(faulty, suite_file, tmp_path):
    began, limit = tmp_path / "began", 3
    path = suite_file(
        learner=[{"name": "gradual", "options": {"path": str(began), "seconds": 1.0}}], budget={"cell_seconds": limit}
    )
    command = [sys.executable, "-m", "bfc_bench", "run", str(path), "--store", str(tmp_path / "store"), "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not began.exists() and process.poll() is None:
            time.sleep(0.02)
        session = psutil.Process(process.pid)
        send(session, signal.SIGSTOP)
        time.sleep(limit + 2)
        send(session, signal.SIGCONT)
        assert process.wait(120) == 0
    rows = read_results(path, store=tmp_path / "store")
    assert {row.status for row in rows} == {"ok"}, [row.reason for row in rows]


def test_a_learner_that_never_returns_is_stopped_although_its_session_was_stopped(faulty, suite_file, tmp_path):
    began = tmp_path / "began"
    path = suite_file(
        learner=[{"name": "gradual", "options": {"path": str(began), "seconds": 1e6}}], budget={"cell_seconds": 2}
    )
    command = [sys.executable, "-m", "bfc_bench", "run", str(path), "--store", str(tmp_path / "store"), "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not began.exists() and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(120) == 1
    assert {row.status for row in read_results(path, store=tmp_path / "store")} == {"timeout"}
