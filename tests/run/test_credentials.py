"""Credentials that a learner meets stay out of rows, tracebacks and the report, and out of its reach."""

import ctypes
import os
import subprocess
import sys

import pytest
from stored_rows import read_results

from bfc_bench import RunOptions, hookimpl, run_suite

SECRETS = ("h4pass", "abc-query-token", "v4lue-of-a-variable", "inner-passw0rd")
TEXT = (
    "git clone https://bob:h4pass@host/x.git failed; GET /api?page=2&token=abc-query-token; "
    "sent v4lue-of-a-variable and inner-passw0rd"
)
SESSION = """
import os, sys
from pathlib import Path
from bfc_bench import RunOptions, hookimpl, run_suite
if __name__ == "__main__":
    Path(sys.argv[2]).write_text(str(os.getpid()))
    run_suite(sys.argv[1], RunOptions(store=sys.argv[3], jobs=1))
"""


@pytest.mark.parametrize("executor", ["processes", "serial"])
def test_no_reason_traceback_or_fact_of_a_learner_shows_a_credential(
    executor, faulty, suite_file, tmp_path, monkeypatch, cli
):
    monkeypatch.setenv("HUB_TOKEN", SECRETS[2])
    monkeypatch.setenv("DATABASE_URL", f"postgresql://me:{SECRETS[3]}@host/db")
    said = tmp_path / "said"
    said.write_text(TEXT)
    options = [{"path": str(said), "where": where} for where in ("fit", "info", "skip")]
    learners = [{"name": "telltale", "label": values["where"], "options": values} for values in options]
    path, store = suite_file(learner=learners), tmp_path / "store"
    told = cli("run", path, "--store", store, "--executor", executor, "--jobs", "1")
    assert told.returncode == 1
    kept = b"".join(file.read_bytes() for file in store.rglob("*") if file.is_file())
    assert kept.count(b"git clone https://***@host/x.git failed; GET /api?page=2&token=***; sent *** and ***") > 5
    for secret in SECRETS:
        assert secret.encode() not in kept
        assert secret not in told.stdout + told.stderr


def test_a_row_is_masked_before_plugins_see_it(faulty, suite_file, tmp_path):
    said, seen = tmp_path / "said", []
    said.write_text(TEXT)

    class Listener:
        @hookimpl
        def bfc_result(self, result):
            seen.append(result.reason)

    path = suite_file(learner=[{"name": "telltale", "options": {"path": str(said), "where": "fit"}}])
    run_suite(path, RunOptions(store=tmp_path / "store", executor="serial", listeners=[Listener()]))
    assert len(seen) == 2
    assert all("https://***@host" in reason for reason in seen)


def test_a_credential_that_is_also_the_name_of_a_column_stops_no_run(faulty, suite_file, tmp_path, monkeypatch):
    for column in ("reason", "stages", "chosen"):
        monkeypatch.setenv(f"{column}_TOKEN", column)
    path = suite_file(learner=[{"name": "mean"}])
    assert run_suite(path, RunOptions(store=tmp_path / "store", executor="serial")).exit_code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_worker_cannot_read_the_environment_of_its_session(faulty, suite_file, tmp_path):
    def without_rights():  # by which root reads everything: PR_CAPBSET_DROP of CAP_SYS_PTRACE, _ADMIN, _PERFMON
        for right in (19, 21, 38):
            ctypes.CDLL(None).prctl(24, right, 0, 0, 0)

    script, pid, store = tmp_path / "session.py", tmp_path / "pid", tmp_path / "store"
    script.write_text(SESSION)
    options = {"path": str(pid), "text": SECRETS[2][::-1]}
    path = suite_file(learner=[{"name": "prying", "options": options}])
    command = [sys.executable, str(script), str(path), str(pid), str(store)]
    environment = os.environ | {"HUB_TOKEN": SECRETS[2]}
    subprocess.run(command, env=environment, preexec_fn=without_rights, check=True, timeout=120)
    reasons = {row.reason for row in read_results(path, store=store)}
    assert all("PermissionError" in reason for reason in reasons), reasons
