"""A backup takes the place of a store, with nothing of a killed run, and only if all of it is as it was written."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from bfc_bench.cli.app import run
from bfc_bench.errors import StoreError
from bfc_bench.store import artifacts, log_identity
from bfc_bench.store.backup import backup
from bfc_bench.store.restore import restore
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store

ROW = Row(cell="", suite="s", suite_version=1, task="t", learner="l", label="l", options={}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, finished_at=1.0)  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n"
WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
row = Row(cell="", suite="s", suite_version=1, task="t", learner="l", label="l", options={}, d=2, n=3, replicate=0,
          status="ok", nmse=0.5, reason="x" * 3000)
with Store(Path(sys.argv[1]), write=True) as store:
    store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
    for number in range(10**6):
        store.put([(replace(row, cell=f"killed{number}", n=number + 1), "td", "ld", "")])
        print(number, flush=True)
"""


def store_of(folder, *cells, nmse=0.5, files=None):
    with Store(folder, write=True) as store:
        store.sessions.begin("run", "s", 1, {"name": "s", "version": 1}, {})
        store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
        listed = artifacts.digests(files or {})
        rows = [replace(ROW, cell=cell, n=i + 1, nmse=nmse, artifacts=listed) for i, cell in enumerate(cells)]
        store.put([(row, "td", "ld", "") for row in rows], dict.fromkeys(cells, files) if files else {})
    return folder


def cells(folder):
    with Store(folder) as store:
        return [row.cell for row in store.rows("s", 1)]


def change(path, sql):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(sql)


@pytest.fixture
def copy(tmp_path):
    """A backup of a store with two rows and an artifact of each."""
    backup(store_of(tmp_path / "old", "c0", "c1", files={"a.png": PNG}), tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def kill_writer():
    """Write rows into a store by another process and kill it with -9, so that its log stays."""

    def kill(folder, rows=30, copy=None):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, folder], stdout=subprocess.PIPE, text=True)
        for _ in range(rows):
            writer.stdout.readline()
        if copy:
            backup(folder, copy)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
        assert (folder / "results.sqlite-wal").stat().st_size > 0

    return kill


def test_a_copy_put_over_the_file_of_a_killed_run_by_hand_is_noticed_and_restored(copy, kill_writer, tmp_path, capsys):
    store = tmp_path / "store"
    kill_writer(store)
    shutil.copyfile(copy / "results.sqlite", store / "results.sqlite")  # as `cp` does
    for write in (False, True):
        with pytest.raises(StoreError, match=r"results\.sqlite-wal was left by a killed run and belongs to another"):
            Store(store, write=write)
    assert run(["restore", str(copy), "--store", str(store)]) == 0
    assert capsys.readouterr().out == f"{store}: 2 rows of 1 suite restored.\n"
    assert cells(store) == ["c0", "c1"]
    with Store(store) as restored:
        assert set(restored.artifacts("c0")) == {"a.png"}
    assert {file.name for file in store.iterdir()} == {"results.sqlite", "results.sqlite-id", "lock", "artifacts"}


@pytest.mark.parametrize("how", ["renamed", "removed first"])
def test_a_file_that_was_replaced_beside_a_log_is_noticed_however_it_was_done(how, copy, kill_writer, tmp_path):
    store = tmp_path / "store"
    kill_writer(store, rows=3)
    if how == "removed first":
        (store / "results.sqlite").unlink()
    os.replace(shutil.copyfile(copy / "results.sqlite", tmp_path / "aside"), store / "results.sqlite")
    with pytest.raises(StoreError, match="belongs to another"):
        Store(store)
    (store / "results.sqlite-wal").unlink()  # as the error says
    assert cells(store) == ["c0", "c1"]


def test_an_earlier_state_of_the_same_store_is_noticed_too(copy, kill_writer, tmp_path):
    store = store_of(tmp_path / "store", "c0")
    shutil.copyfile(store / "results.sqlite", tmp_path / "earlier")
    kill_writer(store, rows=5)
    shutil.copyfile(tmp_path / "earlier", store / "results.sqlite")
    with pytest.raises(StoreError, match="belongs to another"):
        Store(store)


def test_a_backup_of_the_same_run_is_noticed_too(kill_writer, tmp_path):
    store = tmp_path / "store"
    kill_writer(store, rows=5, copy=tmp_path / "copy")
    before = cells(tmp_path / "copy")
    shutil.copyfile(tmp_path / "copy" / "results.sqlite", store / "results.sqlite")
    with pytest.raises(StoreError, match="belongs to another"):
        Store(store)
    restore(tmp_path / "copy", store)
    assert cells(store) == before


def test_the_log_of_a_killed_run_is_its_own_also_where_the_whole_folder_was_copied(kill_writer, tmp_path):
    store = tmp_path / "store"
    for turn in (5, 400):  # the second run finds the log of the first, and writes more than a log holds
        kill_writer(store, rows=turn)
        shutil.copytree(store, tmp_path / f"copy-{turn}")
        assert len(cells(tmp_path / f"copy-{turn}")) >= turn
    assert len(cells(store)) >= 400


def test_a_process_killed_while_the_file_gets_its_number_leaves_a_store_that_opens(kill_writer, tmp_path):
    store = tmp_path / "store"
    for moment in ("BEFORE", "AFTER"):
        kill_writer(store, rows=5)  # so that there is a log
        code = f"""
import os, sys
from pathlib import Path
from bfc_bench.store import log_identity
from bfc_bench.store.store import Store
write, turn = log_identity._write, []
def killed(path, numbers):
    turn.append(0)
    if len(turn) == 2 and {moment!r} == "BEFORE": os.kill(os.getpid(), 9)
    write(path, numbers)
    if len(turn) == 1 and {moment!r} == "AFTER": os.kill(os.getpid(), 9)
log_identity._write = killed
Store(Path(sys.argv[1]), write=True)
"""
        assert subprocess.run([sys.executable, "-c", code, store], check=False).returncode == -signal.SIGKILL
        assert len(cells(store)) >= 5
        with Store(store, write=True):
            pass


def test_rows_that_the_backup_lacks_are_counted_and_stay_without_force(copy, kill_writer, tmp_path, capsys):
    store = store_of(tmp_path / "store", "c0", "c2")
    kill_writer(store, rows=3)
    before = cells(store)
    assert run(["restore", str(copy), "--store", str(store)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    # c0 of the store lists no artifact, so it is another row
    assert f"has {len(before)} rows that {copy} lacks. Nothing was changed" in line
    assert cells(store) == before
    assert run(["restore", str(copy), "--store", str(store), "--force"]) == 0
    assert f"2 rows of 1 suite restored; {len(before)} rows that the backup lacks removed" in capsys.readouterr().out
    assert cells(store) == ["c0", "c1"]


def test_a_row_that_was_changed_is_not_one_that_the_backup_lacks(copy, tmp_path):
    shutil.copytree(tmp_path / "old", tmp_path / "store")
    change(tmp_path / "store" / "results.sqlite", "UPDATE rows SET row = json_set(row, '$.nmse', 9.0) WHERE n = 1")
    change(tmp_path / "store" / "results.sqlite", "UPDATE rows SET row_digest = x'00' WHERE n = 2")
    restored = restore(copy, tmp_path / "store")
    assert (restored.rows, restored.suites, restored.removed) == (2, 1, 0)
    assert cells(tmp_path / "store") == ["c0", "c1"]


def _flip(copy):
    content = bytearray((copy / "results.sqlite").read_bytes())
    content[content.index(b'"nmse":0.5') + 9] ^= 1  # 0.4, which is as good a number
    (copy / "results.sqlite").write_bytes(content)


DAMAGES = {
    "a bit of a row": (_flip, "1 of the table 'rows'"),
    "a column": (lambda copy: change(copy / "results.sqlite", "UPDATE rows SET n = 7"), "2 of the table 'rows'"),
    "a run": (lambda copy: change(copy / "results.sqlite", "UPDATE sessions SET suite = '../s'"), "'sessions'"),
    "noise": (lambda copy: (copy / "results.sqlite").write_bytes(b"no database " * 1000), "cannot be read"),
    "cut": (lambda copy: os.truncate(copy / "results.sqlite", 8192), "malformed|damaged|cannot be read"),
    "no file": (lambda copy: (copy / "results.sqlite").unlink(), "There is no backup"),
    "a pipe": (lambda copy: [(copy / "results.sqlite").unlink(), os.mkfifo(copy / "results.sqlite")], "regular file"),
    "an artifact": (lambda copy: next(copy.glob("artifacts/*/c0/a.png")).write_bytes(PNG + b"x"), "lacks 1 artifact"),
    "no artifact": (lambda copy: shutil.rmtree(copy / "artifacts"), "lacks 2 artifacts"),
    "other tables": (lambda copy: change(copy / "results.sqlite", "CREATE TABLE more (x)"), "other tables"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_refused_in_one_line_and_the_store_stays(damage, copy, tmp_path, capsys):
    store = store_of(tmp_path / "store", "c9")
    spoil, message = DAMAGES[damage]
    spoil(copy)
    assert run(["restore", str(copy), "--store", str(store), "--force"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line), line
    assert cells(store) == ["c9"]
    assert run(["restore", str(copy), "--store", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


def test_rows_alone_are_restored_from_the_file_of_a_backup(copy, tmp_path):
    shutil.rmtree(copy / "artifacts")
    restore(copy / "results.sqlite", tmp_path / "store")
    assert cells(tmp_path / "store") == ["c0", "c1"]


def test_a_store_in_use_is_not_replaced(copy, tmp_path, capsys):
    with Store(tmp_path / "store", write=True):
        assert run(["restore", str(copy), "--store", str(tmp_path / "store"), "--force"]) == 2
        assert "is in use by another bfc-bench" in capsys.readouterr().err
    with pytest.raises(StoreError, match=r"is the store in .* itself"):
        restore(copy, copy)


def test_a_store_that_cannot_be_read_is_replaced_only_by_force(copy, tmp_path):
    store = store_of(tmp_path / "store", "c9")
    (store / "results.sqlite").write_bytes(noise := b"no database " * 1000)
    with pytest.raises(StoreError, match=r"nothing is known of its rows: .* Use --force"):
        restore(copy, store)
    assert (store / "results.sqlite").read_bytes() == noise
    restore(copy, store, force=True)
    assert cells(store) == ["c0", "c1"]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_restore_killed_around_the_replacement_shows_one_of_the_two_or_an_error(moment, copy, kill_writer, tmp_path):
    store = tmp_path / "store"
    kill_writer(store, rows=5)
    shutil.copytree(store, tmp_path / "same")
    before = cells(tmp_path / "same")
    code = f"""
import os, sys
from pathlib import Path
from bfc_bench.store.restore import restore
replace = os.replace
def kill_around(source, to):
    if str(source).endswith(".restored") and {moment!r} == "before": os.kill(os.getpid(), 9)
    replace(source, to)
    if str(source).endswith(".restored"): os.kill(os.getpid(), 9)
os.replace = kill_around
restore(Path(sys.argv[1]), Path(sys.argv[2]), force=True)
"""
    with Store(store) as reader, reader.snapshot():  # because of it the log of the run cannot be merged
        reader.known_cells("s", 1)
        killed = subprocess.run([sys.executable, "-c", code, copy, store], check=False)
    assert killed.returncode == -signal.SIGKILL
    if moment == "before":
        assert cells(store) == before
    else:
        with pytest.raises(StoreError, match="belongs to another"):
            Store(store)
    restore(copy, store, force=True)
    assert cells(store) == ["c0", "c1"]
    assert not list(store.glob(".*"))


def test_jobs_of_shards_are_brought_back_and_those_that_are_there_stay(copy, tmp_path):
    for folder, job, text in ((copy, "0001-s", "old"), (copy, "0002-s", "old"), (tmp_path / "store", "0001-s", "new")):
        (folder / "shards" / job).mkdir(parents=True)
        (folder / "shards" / job / "journal").write_text(text)
    restore(copy, tmp_path / "store")
    kept = {file.parent.name: file.read_text() for file in (tmp_path / "store" / "shards").glob("*/journal")}
    assert kept == {"0001-s": "new", "0002-s": "old"}


def test_readers_that_come_while_a_writer_opens_see_no_foreign_log(tmp_path, monkeypatch):
    store = store_of(tmp_path / "store", "c0")
    number, turns = log_identity._number, []

    def renewed_meanwhile(path):
        if turns:
            return number(path)
        turns.append(0)
        log_identity._write(path, {before := number(path) + 1})
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(f"PRAGMA application_id = {before}")
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return number(path)

    monkeypatch.setattr(log_identity, "_number", renewed_meanwhile)
    with Store(store, write=True) as writer:
        writer.put([(replace(ROW, cell="c1"), "td", "ld", "")])  # so that there is a log
        turns.clear()
        assert cells(store) == ["c0", "c1"]
    assert turns
