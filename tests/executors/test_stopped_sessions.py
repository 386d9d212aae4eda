"""Time for which a session and its workers are stopped counts against no limit."""

import signal
import subprocess
import sys
import time

import psutil
import pytest
from stored_rows import read_results


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
@pytest.mark.parametrize(("seconds", "with_workers", "status"), [(1.0, True, "ok"), (1e6, False, "timeout")])
def test_after_a_session_was_stopped_only_what_never_returns_has_a_timeout(
    seconds, with_workers, status, faulty, suite_file, tmp_path
):
    began, limit = tmp_path / "began", 3
    path = suite_file(
        learner=[{"name": "gradual", "options": {"path": str(began), "seconds": seconds}}],
        budget={"cell_seconds": limit},
    )
    command = [sys.executable, "-m", "bfc_bench", "run", str(path), "--store", str(tmp_path / "store"), "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not began.exists() and process.poll() is None:
            time.sleep(0.02)
        session = psutil.Process(process.pid)
        stopped = [session, *(session.children(recursive=True) if with_workers else ())]
        for number, seconds_after in ((signal.SIGSTOP, limit + 2), (signal.SIGCONT, 0)):
            for each in stopped:
                each.send_signal(number)
            time.sleep(seconds_after)
        assert process.wait(120) == (status != "ok")
    rows = read_results(path, store=tmp_path / "store")
    assert {row.status for row in rows} == {status}, [row.reason for row in rows]
