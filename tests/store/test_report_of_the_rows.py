"""The report in a store shows what the store holds, whatever happened to the run that should have written it."""

import os
import signal
import subprocess
import sys

import pytest

from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.report.source_key import key_of

KILLED = """
import os, signal, sys
from bfc_bench.cli.app import run
from bfc_bench.stored_suite import StoredSuite
StoredSuite.report = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run(sys.argv[1:])
"""


@pytest.fixture
def command(faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "mean"}], levels=[0.9])
    return ["run", path, "--store", tmp_path / "store", "--executor", "serial"]


@pytest.fixture
def page(tmp_path):
    return tmp_path / "store" / "reports" / "tiny@1" / "report.html"


def kill_before_the_report(*arguments):
    ended = subprocess.run([sys.executable, "-c", KILLED, *map(str, arguments)], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL


def test_a_run_killed_before_its_report_is_made_up_for(command, page, cli):
    kill_before_the_report(*command)
    assert not page.exists()
    again = cli(*command)
    assert (again.returncode, "nothing to do" in again.stdout) == (0, True)
    assert page.exists()

    first = page.read_text()
    kill_before_the_report(*command, "--set", "replicates=3")
    assert page.read_text() == first
    again = cli(*command, "--set", "replicates=3")
    assert (again.returncode, "nothing to do" in again.stdout) == (0, True)
    assert page.read_text() != first


def test_a_run_without_work_leaves_a_report_that_shows_its_rows(command, page, cli):
    assert cli(*command).returncode == 0
    before = page.stat().st_mtime_ns
    assert cli(*command).returncode == 0
    assert page.stat().st_mtime_ns == before
    page.write_text(page.read_text().replace("bfc-key", "other"))  # of a release that did not note it
    assert cli(*command).returncode == 0
    assert key_of(page.parent)


def test_changed_definitions_and_rows_are_noticed(command, page, tmp_path):
    def run(*changes):
        run_suite(command[1], RunOptions(store=tmp_path / "store", executor="serial", changes=changes))
        with open_store(tmp_path / "store") as held:
            suite = held["tiny@1"]
            before = suite.reported
            suite.report()
            assert suite.reported
        return before

    for changes in ([], ["levels=[0.5]"], ["replicates=2"]):
        assert [run(*changes), run(*changes)] == [False, True]


def test_a_full_disk_is_one_sentence(command, tmpfs, cli):
    subprocess.run(["mount", "-o", "remount,size=8m", tmpfs], check=True)
    run_suite(command[1], RunOptions(store=command[3], executor="serial"))
    wanted = ["report", command[1], "--store", command[3], "--output", tmpfs / "out"]
    assert cli(*wanted).returncode == 0
    page = tmpfs / "out" / "report.html"
    before, disk = page.read_text(), os.statvfs(tmpfs)
    (tmpfs / "filler").write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - 8192))
    for arguments in (
        wanted,
        ["results", command[1], "--store", command[3], "--format", "json", "--output", "/dev/full"],
    ):
        ended = cli(*arguments)
        assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
        assert "No space left on device" in ended.stderr
    assert page.read_text() == before
