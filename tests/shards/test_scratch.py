"""What shards leave on a machine's disk when they are killed, and who removes it."""

import os
import signal

import pytest
from shards_in_tests import heartbeat, wait_for

from bfc_bench.shards.scratch import PREFIX, scratch

pytestmark = pytest.mark.usefixtures("faulty")


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """The machine's own disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setenv("SLURM_TMPDIR", str(folder))
    return folder


def test_what_a_killed_shard_left_is_removed_by_the_next_and_what_a_live_one_has_is_not(
    suite_file, submit, start, disk
):
    path = suite_file(learner=[{"name": "slow", "options": {"seconds": 90}}], replicates=2)
    job = submit(path, shards=2).job

    def begin(number):
        before, process = set(disk.glob(f"{PREFIX}*")), start(job, number)
        wait_for(lambda: heartbeat(job, number).process == process.pid and heartbeat(job, number).running)
        (own,) = set(disk.glob(f"{PREFIX}*")) - before
        assert any(own.iterdir())
        return process, own

    killed, left = begin(0)
    lives, kept = begin(1)
    assert left.exists()
    killed.kill()
    killed.wait()
    assert left.exists()
    again, own = begin(0)
    assert set(disk.glob(f"{PREFIX}*")) == {kept, own}
    for process in (lives, again):
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 130
    assert not list(disk.glob(f"{PREFIX}*"))


def test_links_files_and_folders_of_others_stay(disk, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("here")
    (disk / f"{PREFIX}link").symlink_to(precious)
    (disk / f"{PREFIX}file").write_text("here")
    (disk / "bfc-bench-other").mkdir()
    inside = disk / f"{PREFIX}left"
    inside.mkdir()
    (inside / "link").symlink_to(precious)
    there = {"bfc-bench-other", f"{PREFIX}link", f"{PREFIX}file"}
    if os.getuid() == 0:
        (disk / f"{PREFIX}another").mkdir()
        os.chown(disk / f"{PREFIX}another", 12345, 12345)
        there.add(f"{PREFIX}another")
    with scratch() as own:
        assert {path.name for path in disk.iterdir()} == {*there, own.name}
        assert own.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in disk.iterdir()} == there
    assert (precious / "file").read_text() == "here"
