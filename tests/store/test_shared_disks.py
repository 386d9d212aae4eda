"""Stores on file systems without locks, or that machines share: one writes, nothing is lost, and who has it is said."""

import errno
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from stored_rows import seal

from bfc_bench.errors import StoreError
from bfc_bench.store import file_system
from bfc_bench.store.file_system import FileSystem
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks.faults.locks import CALLS  # noqa: E402

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, finished_at=1.0)  # fmt: skip
ERRORS = ["ENOSYS", "ENOLCK", "EOPNOTSUPP"]
PRELUDE = f"""
import errno, os, signal, sys, warnings
sys.path.append({str(ROOT)!r})
from dataclasses import replace
from pathlib import Path
from benchmarks.faults.locks import forbid_locks
from bfc_bench.errors import StoreError
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
forbid_locks(getattr(errno, sys.argv[1]))
folder = Path(sys.argv[2])
row = Row(cell="", suite="s", suite_version=1, task="t", learner="l", label="l", options={{}}, d=2, n=3, replicate=0,
          status="ok", nmse=0.5, reason="x" * 3000)
def put(store, turn):  # a pair in one transaction
    store.put((replace(row, cell=f"{{turn}}{{half}}", n=turn + 1), "td", "ld", "") for half in "ab")
"""
no_locks = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in CALLS, reason="takes a filter of Linux for this processor"
)


def python(code, *arguments):
    """Runs code where no file can be locked; ``CompletedProcess``."""
    command = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def start(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", PRELUDE + code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


WRITE = """
with Store(folder, write=True) as store:
    store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
    for turn in range(int(sys.argv[3])):
        put(store, turn)
        print(turn, flush=True)
"""
READ = """
with Store(folder) as store:
    print(len(store.rows("s", 1)))
"""


@no_locks
@pytest.mark.parametrize("error", ERRORS)
def test_a_store_without_locks_is_made_written_and_read_with_one_warning(error, tmp_path):
    wrote = python(WRITE, error, tmp_path / "store", 5)
    assert wrote.returncode == 0, wrote.stderr
    said = [line for line in wrote.stderr.splitlines() if "UserWarning" in line]
    assert len(said) == 1
    assert "lies on a file system without locks" in said[0]
    assert python(READ, error, tmp_path / "store").stdout.split() == ["10"]
    with Store(tmp_path / "store", write=True) as store:  # and where there are locks again
        assert len(store.rows("s", 1)) == 10
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert {path.name for path in (tmp_path / "store").iterdir()} == {"lock", "results.sqlite", "results.sqlite-id"}


@no_locks
@pytest.mark.parametrize("error", ERRORS)
def test_a_whole_run_works_there(error, faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "mean"}])
    code = (
        "from bfc_bench.cli.app import run\n"
        "codes = [run([*arguments, sys.argv[3], '--store', sys.argv[2]]) for arguments in "
        "(['run', '--no-mlflow', '--executor', 'serial'], ['results'], ['report'])]\nassert codes == [0, 0, 0], codes"
    )
    ran = python(code, error, tmp_path / "store", path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("warning") == 1


@no_locks
def test_a_store_that_was_written_with_a_log_loses_nothing_there(tmp_path):
    with Store(tmp_path / "store", write=True) as store:
        store.put((replace(ROW, cell=f"c{i}", n=i + 1), "td", "ld", "") for i in range(100))
        store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
        shutil.copytree(tmp_path / "store", tmp_path / "copy")
    assert (tmp_path / "copy" / "results.sqlite-wal").stat().st_size > 0
    assert python(READ, "ENOSYS", tmp_path / "copy").stdout.split() == ["100"]
    assert python(WRITE, "ENOSYS", tmp_path / "copy", 1).returncode == 0
    with Store(tmp_path / "copy") as store:
        assert len(store.rows("s", 1)) == 102


@no_locks
def test_readers_without_locks_see_whole_transactions_while_somebody_writes(tmp_path):
    # As fast as cells end; one that never pauses leaves no moment in which a file can be copied, which is then said.
    pausing = WRITE.replace("flush=True)", "flush=True)\n        time.sleep(0.05)")
    writer = start(f"import time\n{pausing}", "ENOLCK", tmp_path / "store", 10**6)
    try:
        for _ in range(4):
            said = [int(writer.stdout.readline()) for _ in range(20)][-1]
            seen = python(
                "with Store(folder) as store:\n    cells = {row.cell for row in store.rows('s', 1)}\n"
                "    print(len(cells), cells == {f'{turn}{half}' for turn in range(len(cells) // 2) for half in 'ab'})",
                "ENOLCK", tmp_path / "store",
            )  # fmt: skip
            assert seen.returncode == 0, seen.stderr
            count, whole = seen.stdout.split()
            assert whole == "True"
            assert int(count) >= 2 * (said + 1)
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()


@no_locks
def test_a_writer_killed_anywhere_leaves_whole_transactions_and_frees_the_store(tmp_path):
    for line in (700, 1500, 2300, 3100):
        folder = tmp_path / str(line)
        code = (
            "count = 0\n"
            "def trace(frame, event, arg):\n"
            "    global count\n"
            "    if frame.f_code.co_filename.endswith(('store/store.py', 'store/database.py', 'store/lock.py')):\n"
            "        count += event == 'line'\n"
            f"        if count == {line}: os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return trace\n"
            "sys.settrace(trace)\n"
        )
        killed = python(code + WRITE, "ENOSYS", folder, 10_000)
        assert killed.returncode == -signal.SIGKILL
        said = len(killed.stdout.split())
        read = python(READ, "ENOSYS", folder)
        assert read.returncode == 0, read.stderr
        assert int(read.stdout) in (2 * said, 2 * said + 2)
        assert python(WRITE, "ENOSYS", folder, 1).returncode == 0  # the dead one holds it no more


@no_locks
def test_the_second_writer_is_told_who_has_it(tmp_path):
    writer = start(WRITE, "ENOSYS", tmp_path / "store", 10**6)
    try:
        writer.stdout.readline()
        second = python(WRITE, "ENOSYS", tmp_path / "store", 1)
        assert "StoreError" in second.stderr
        assert f"in use by another bfc-bench (process {writer.pid} on {platform.node()}, since 20" in second.stderr
    finally:
        writer.kill()
        writer.communicate()
    assert python(WRITE, "ENOSYS", tmp_path / "store", 1).returncode == 0


@no_locks
def test_of_many_that_find_a_dead_holder_at_once_one_gets_the_store(tmp_path):
    code = (
        "import time\n"
        "while time.time() < float(sys.argv[3]): pass\n"
        "try:\n    with Store(folder, write=True): print('opened', flush=True); time.sleep(3)\n"
        "except StoreError as error: print('told')\n"
    )
    with killed_in_the_middle(tmp_path / "store"):
        at = time.time() + 8
        started = [start(code, "ENOSYS", tmp_path / "store", at) for _ in range(4)]
        said = sorted(process.communicate()[0].strip() for process in started)
    assert said == ["opened", "told", "told", "told"]


@contextmanager
def killed_in_the_middle(folder):
    """A store whose holder was killed."""
    writer = start(WRITE, "ENOSYS", folder, 10**6)
    writer.stdout.readline()
    writer.kill()
    writer.communicate()
    assert (folder / "in-use").exists()
    yield


@no_locks
def test_a_holder_on_another_machine_is_believed_and_how_to_free_it_is_said(tmp_path):
    with killed_in_the_middle(tmp_path / "store"):
        path = tmp_path / "store" / "in-use"
        holder = json.loads(path.read_text()) | {"host": "another"}
        path.write_text(json.dumps(holder))
        told = python(WRITE, "ENOSYS", tmp_path / "store", 1)
        assert told.returncode != 0
        assert f"(process {holder['process']} on another, since {holder['since']})" in told.stderr
        assert f"remove {path}" in told.stderr
        path.unlink()
        assert python(WRITE, "ENOSYS", tmp_path / "store", 1).returncode == 0


@pytest.fixture
def nfs(monkeypatch):
    """Every folder lies on NFS, as far as the table of mounts says."""
    monkeypatch.setattr(file_system, "_kind", lambda folder: "nfs4")


def test_a_file_system_that_machines_share_has_a_journal_and_says_who_writes(nfs, tmp_path):
    with pytest.warns(UserWarning, match=r"lies on nfs4, which machines share.*journal.*'in-use'"):
        store = Store(tmp_path / "store", write=True)
    store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
    store.put([(ROW, "td", "ld", "")])
    assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
    assert json.loads((tmp_path / "store" / "in-use").read_text())["process"] == os.getpid()
    with Store(tmp_path / "store") as reading:
        assert reading.rows("s", 1) == [ROW]
    store.close()
    assert {path.name for path in (tmp_path / "store").iterdir()} == {
        "lock",
        "results.sqlite",
        "results.sqlite-id",
        "results.sqlite-journal",
    } - (set() if (tmp_path / "store" / "results.sqlite-journal").exists() else {"results.sqlite-journal"})


def test_another_machines_holder_keeps_a_shared_store(nfs, tmp_path):
    with pytest.warns(UserWarning, match="nfs4"):
        Store(tmp_path / "store", write=True).close()
    holder = {"host": "another", "process": 1, "started": "x/1", "since": "2026-01-01 00:00:00 +0000"}
    (tmp_path / "store" / "in-use").write_text(json.dumps(holder))
    with pytest.raises(StoreError, match=r"process 1 on another, since 2026-01-01 00:00:00 \+0000.*If that process"):
        Store(tmp_path / "store", write=True)


@pytest.fixture
def mounted(tmp_path):
    """A folder on a real mount that calls itself fuse.sshfs, by Debian's bindfs."""
    source, folder = tmp_path / "source", tmp_path / "mounted"
    source.mkdir()
    folder.mkdir()
    if shutil.which("bindfs") is None:
        pytest.skip("bindfs is not installed")
    made = subprocess.run(
        ["bindfs", "-o", "subtype=sshfs", source, folder], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cannot mount here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_a_mount_that_machines_share_is_known_by_its_kind_and_survives_a_kill(mounted, tmp_path):
    with pytest.warns(UserWarning, match=r"lies on fuse\.sshfs, which machines share"):
        Store(mounted / "store", write=True).close()
    code = PRELUDE.replace("forbid_locks(getattr(errno, sys.argv[1]))", "") + WRITE
    writer = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, "-", mounted / "store", str(10**6)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    said = [int(writer.stdout.readline()) for _ in range(20)][-1]
    assert json.loads((mounted / "store" / "in-use").read_text())["process"] == writer.pid
    with Store(mounted / "store") as reading:
        assert len(reading.rows("s", 1)) >= 2 * (said + 1)
    writer.kill()
    said += len(writer.communicate()[0].splitlines())
    with pytest.warns(UserWarning, match=r"fuse\.sshfs"):
        store = Store(mounted / "store", write=True)
    assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("truncate",)
    assert len(store.rows("s", 1)) in (2 * (said + 1), 2 * (said + 2))
    store.close()


MOUNTS = """\
21 1 254:0 / / rw - ext4 /dev/vda rw
30 21 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw
31 30 0:41 / /home/my\\040disk rw - lustre 10.0.0.1@tcp:/x rw
32 21 0:42 / /scratch rw - fuse.sshfs me@there:/ rw
33 32 0:43 / /scratch rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/me", "nfs4"),
        ("/homeless", "ext4"),
        ("/home/my disk/a", "lustre"),
        ("/scratch/x", "tmpfs"),
        ("/", "ext4"),
    ],
)
def test_the_file_system_of_a_folder_is_that_of_the_last_mount_above_it(folder, kind, tmp_path):
    (tmp_path / "mounts").write_text(MOUNTS)
    assert file_system._kind(Path(folder), tmp_path / "mounts") == kind


def test_a_local_disk_is_as_it_was(tmp_path):
    (tmp_path / "lock").touch()
    found = file_system.file_system(tmp_path)
    assert found == FileSystem(found.kind, locks=True)
    assert found.supports_wal
    with Store(tmp_path, write=True) as store:
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert not (tmp_path / "in-use").exists()


def test_a_journal_that_was_left_is_played_back_in_a_copy_where_nothing_can_be_written(nfs, tmpfs):
    with pytest.warns(UserWarning, match="nfs4"):
        store = Store(tmpfs / "store", write=True)
    store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
    store.put((replace(ROW, cell=f"c{i}", n=i + 1, reason="x" * 2000), "td", "ld", "") for i in range(15))
    store.connection.execute("PRAGMA cache_size = 1")  # pages reach the file before the commit
    store.connection.execute("BEGIN IMMEDIATE")
    store.connection.execute("UPDATE rows SET row = json_set(row, '$.nmse', 9.0)")
    seal(store.connection)
    shutil.copytree(tmpfs / "store", tmpfs / "copy")
    store.connection.execute("ROLLBACK")
    store.close()
    assert (tmpfs / "copy" / "results.sqlite-journal").stat().st_size > 0
    subprocess.run(["mount", "-o", "remount,ro", tmpfs], check=True)
    with Store(tmpfs / "copy") as copy:
        assert [row.nmse for row in copy.rows("s", 1)] == [0.5] * 15


def test_what_a_file_system_answers_that_has_no_locks():
    assert {getattr(errno, name) for name in ERRORS} <= file_system.NO_LOCKS
