"""Wrong addresses and stores are said in one line, and credentials of an address stay in the process."""

import os
import subprocess
import sys
from contextlib import suppress

import psutil
import pytest

SECRET = "s3cr3t-hunter2"


def test_a_password_is_in_no_file_no_output_and_no_process_but_the_users_own(refusing, faulty, suite_file, tmp_path):
    path, store = suite_file(learner=[{"name": "slow", "options": {"seconds": 1.5}}]), tmp_path / "store"
    uri = f"http://user:{SECRET}@{refusing(401)}/?sslpassword={SECRET}"
    for verb, variables in (
        (["run", path, "--jobs", "1", "--tracking-uri", uri], {}),
        (["sync", path], {"MLFLOW_TRACKING_URI": uri}),
    ):
        command = [sys.executable, "-m", "bfc_bench", *map(str, verb), "--store", str(store)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | variables
        )
        seen = set()
        while process.poll() is None:
            seen |= command_lines(process.pid)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
        said = process.communicate()[0]
        assert "MLflow at http://***@127.0.0.1" in said, said
        assert SECRET not in said
        assert not [line for line in seen if SECRET in line]
        if verb[0] == "run":
            assert process.returncode == 0, said
            assert any("import os, pickle, sys" in line for line in seen)  # workers
    files = [file for file in store.rglob("*") if file.is_file()]
    assert {"results.sqlite", "report.html"} <= {file.name for file in files}
    assert not [file for file in files if SECRET.encode() in file.read_bytes()]


def command_lines(pid):
    """Those of the processes that the command started; one that is about to run something else has the user's own."""
    found = set()
    with suppress(psutil.Error):
        own = psutil.Process(pid)
        for process in own.children(recursive=True):
            with suppress(psutil.Error):
                found.add(" ".join(process.cmdline()))
        found.discard(" ".join(own.cmdline()))
    return found


@pytest.mark.parametrize("uri", ["nonsense", "http://user:secret@127.0.0.1:port", "postgresql+no://u:secret@h/d"])
def test_an_address_that_is_none_is_bad_usage_and_stops_no_run(uri, faulty, suite_file, tmp_path, printed, refused):
    arguments = [str(suite_file(learner=[{"name": "mean"}])), "--store", str(tmp_path / "s"), "--tracking-uri", uri]
    assert "warning: MLflow at" in printed("run", "--executor", "serial", *arguments)
    told = refused("sync", *arguments)
    assert "MLflow at" in told
    assert "secret" not in told


@pytest.mark.parametrize("verb", ["sync", "ui"])
def test_a_store_that_is_missing_or_cannot_be_read_is_exit_code_2(verb, suite_file, tmp_path, refused):
    suite = [str(suite_file(learner=[{"name": "kernel-ridge"}]))] * (verb == "sync")
    (tmp_path / "corrupt").mkdir()
    (tmp_path / "corrupt" / "results.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    for name, said in (("none", "There is no store"), ("corrupt", "cannot be read")):
        assert said in refused(verb, *suite, "--store", tmp_path / name)


def test_a_bundle_has_no_database_of_its_own(tmp_path, monkeypatch, refused):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "b.zip").write_bytes(b"")
    said = refused("sync", "smoke", "--store", tmp_path / "b.zip")
    assert f"--tracking-uri must name a server or a database, as {tmp_path / 'b.zip'} is a bundle." in said
