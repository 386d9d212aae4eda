import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from stored_rows import change, judge_claims, read_results, stored_rows
from synthetic import row
from waiting import kill_at_line

import bfc_bench
from bfc_bench.errors import StoreError
from bfc_bench.store.artifacts import digests
from bfc_bench.store.schema import SCHEMA
from bfc_bench.store.store import Store

ROW = row(cell="c0", suite="s", task="t", label="l", options={"a": 1}, d=2, n=3, nmse=0.5, finished_at=1.0)


def fill(store, cells, padding=""):
    for i in range(cells):
        store.put([(replace(ROW, cell=f"c{i}", n=i + 1, reason=padding), "td", "ld", "")])


def test_digests_of_artifacts_are_those_of_stores_that_exist():
    assert digests({"a.bin": b"content"}) == {"a.bin": "b14a99127497aba3"}


def test_another_schema_is_refused_with_both_numbers(tmp_path):
    Store(tmp_path, write=True).close()
    change(tmp_path, f"PRAGMA user_version = {SCHEMA + 6}")
    for write in (True, False):
        with pytest.raises(StoreError, match=f"schema {SCHEMA + 6}; this bfc-bench knows schema {SCHEMA}"):
            Store(tmp_path, write=write)


def test_a_missing_store_says_how_to_make_one(tmp_path):
    with pytest.raises(StoreError, match=r"no store in .*bfc-bench run SUITE"):
        Store(tmp_path / "nowhere")


def test_a_cell_has_its_traceback_without_control_characters_and_other_cells_have_none(tmp_path):
    failed = replace(ROW, cell="c9", status="failed", reason="why")
    with Store(tmp_path, write=True) as store:
        store.put([(ROW, "td", "ld", ""), (failed, "td", "ld", "File \x1b[31m")])
    with Store(tmp_path) as store:
        assert [store.traceback(cell) for cell in (ROW.cell, "c9", "c8")] == ["", r"File \x1b[31m", ""]
        assert [store.artifacts(cell) for cell in ("c9", "c8")] == [{}, {}]


@pytest.mark.parametrize("number", [0, SCHEMA, SCHEMA + 1])
def test_a_foreign_database_is_not_touched_whatever_number_its_schema_has(number, tmp_path):
    with closing(sqlite3.connect(tmp_path / "results.sqlite")) as db:
        db.executescript(f"CREATE TABLE mine (x); PRAGMA user_version = {number};")
    before = (tmp_path / "results.sqlite").read_bytes()
    for write in (True, False):
        with pytest.raises(StoreError, match=r"not a file that bfc-bench made.*another --store"):
            Store(tmp_path, write=write)
    assert (tmp_path / "results.sqlite").read_bytes() == before


def test_a_folder_is_that_folder_whatever_its_name(tmp_path):
    names = ["a?mode=memory", "a%20b", "a b", "a#b", "a%3Fb", "ä"]
    for name in names:
        with Store(tmp_path / name, write=True) as store:
            store.put([(replace(ROW, device=name), "td", "ld", "")])
    for name in names:
        with Store(tmp_path / name) as store:
            assert [row.device for row in store.rows("s", 1, every=True)] == [name]
    assert {path.name for path in tmp_path.iterdir()} == set(names)


@pytest.mark.parametrize("index", [True, False])
def test_a_read_only_copy_of_a_session_that_runs_has_all_its_rows_or_is_refused(index, tmpfs, tmp_path):
    running = Store(tmp_path / "running", write=True)
    for start in (0, 40):
        running.put((replace(ROW, cell=f"c{i}"), "td", "ld", "") for i in range(start, start + 60))
    shutil.copytree(running.directory, tmpfs / "copy")
    if not index:
        (tmpfs / "copy" / "results.sqlite-shm").unlink()
    assert (tmpfs / "copy" / "results.sqlite-wal").stat().st_size > 0
    subprocess.run(["mount", "-o", "remount,ro", tmpfs], check=True)
    if index:
        with Store(tmpfs / "copy") as copy:
            assert len(copy.rows("s", 1, every=True)) == 100
    else:
        with pytest.raises(StoreError, match="cannot be read"):
            Store(tmpfs / "copy")
    running.close()


def test_of_many_first_starts_at_once_one_has_the_store_and_the_others_are_told(tmp_path):
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom bfc_bench.errors import StoreError\n"
        "from bfc_bench.store.store import Store\n"
        "for turn in range(15):\n"
        "    time.sleep(max(0, float(sys.argv[2]) + turn / 5 - time.time()))\n"
        "    folder = Path(sys.argv[1], str(turn))\n"
        "    for write in (True, False):\n"
        "        try:\n            store = Store(folder, write=write); print('opened', write)\n"
        "            if write: kept = store; time.sleep(0.15)\n"
        "            store.suites(); store.close()\n"
        "        except StoreError as error: print(error)\n"
    )
    start = str(time.time() + 3)
    command = [sys.executable, "-c", code, tmp_path, start]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate() for process in started]
    assert [error for _, error in said] == [""] * 4
    lines = [line for text, _ in said for line in text.splitlines()]
    others = [line for line in lines if line not in ("opened True", "opened False")]
    assert lines.count("opened True") >= 15
    assert all("is in use by another bfc-bench" in line or "There is no store" in line for line in others), others


def test_the_lock_holds_the_number_of_its_process_alone(tmp_path):
    (tmp_path / "lock").write_text("9" * 20)
    Store(tmp_path, write=True).close()
    assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_a_first_start_killed_anywhere_leaves_no_store_or_a_whole_one(tmp_path):
    files = ("store/database.py", "store/schema.py")
    for line in (8, 16, 24, 32, 40, 48):
        folder = tmp_path / str(line)
        kill_at_line(files, line, "Store(*folders, write=True).close()", folder)
        with suppress(StoreError):  # there is none, which the writer below makes
            Store(folder).close()
        Store(folder, write=True).close()
        assert {path.name for path in folder.iterdir()} == {"lock", "results.sqlite"}


def test_runs_are_in_the_order_in_which_they_began_whatever_the_clock_said(tmp_path, monkeypatch):
    with Store(tmp_path, write=True) as store:
        for id, now in (("first", 1e9), ("second", 5e8)):
            monkeypatch.setattr(time, "time", lambda now=now: now)
            store.begin_session(id, "s", 1, {"levels": [now]}, {})
            store.define("s", 1, {"t": "td"}, {"l": "ld"})
            store.put([(replace(ROW, cell=id, nmse=now, finished_at=now), "td", "ld", "")])
        assert [session["id"] for session in store.sessions("s", 1)] == ["first", "second"]
        assert [row.cell for row in store.rows("s", 1)] == ["first", "second"]
        store.put([(replace(ROW, cell="first", finished_at=1.0), "td", "ld", "")])
        assert [row.cell for row in store.rows("s", 1)] == ["second", "first"]


def test_files_are_their_owners_alone_and_what_exists_keeps_its_mode(tmp_path, faulty, suite_file):
    path = suite_file(learner=[{"name": "mean"}])
    (tmp_path / "shared").mkdir(mode=0o755)
    for name in ("made", "shared"):
        bfc_bench.run_suite(path, bfc_bench.RunOptions(store=tmp_path / name, executor="serial"))
        with bfc_bench.open_store(tmp_path / name) as results:
            results["tiny"].report()
            results["tiny"].rows()
    made = {str(p.relative_to(tmp_path)): p.stat().st_mode & 0o777 for p in tmp_path.rglob("*")}
    assert (made["made"], made["shared"]) == (0o700, 0o755)
    for store in ("made", "shared"):
        assert {made[f"{store}/{name}"] for name in ("results.sqlite", "lock")} == {0o600}
        assert made[f"{store}/reports/tiny@1"] == 0o700
        assert made[f"{store}/reports/tiny@1/report.html"] == 0o600
    (tmp_path / "shared" / "results.sqlite").chmod(0o640)
    with Store(tmp_path / "shared", write=True):
        assert (tmp_path / "shared" / "results.sqlite").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("verb", ["results", "report", "claims", "compare"])
def test_a_store_that_is_missing_or_cannot_be_used_is_exit_code_2(verb, faulty, suite_file, tmp_path, refused):
    path = suite_file(learner=[{"name": "mean"}])
    arguments = ["compare", "a", "b", "--suite", path] if verb == "compare" else [verb, path]
    (tmp_path / "corrupt").mkdir()
    (tmp_path / "corrupt" / "results.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    Store(tmp_path / "empty", write=True).close()
    for name, said in (("none", "There is no store"), ("corrupt", "cannot be read"), ("empty", "has no run")):
        assert said in refused(*arguments, "--store", tmp_path / name)


def test_a_full_disk_is_a_clear_error_and_the_store_stays_readable(tmpfs):
    store = Store(tmpfs / "store", write=True)
    store.define("s", 1, {"t": "td"}, {"l": "ld"})
    with pytest.raises(StoreError, match=r"full.*stay readable.*Free some space"):
        fill(store, 1000, "x" * 2000)
    kept = store.rows("s", 1)
    assert len(kept) > 10
    store.close()
    assert stored_rows(tmpfs / "store", "s") == kept


def test_a_read_only_store_can_be_read_but_not_run(tmpfs, faulty, suite_file, cli):
    subprocess.run(["mount", "-o", "remount,size=8m", tmpfs], check=True)  # for the report
    path = suite_file(learner=[{"name": "mean"}])
    assert cli("run", path, "--executor", "serial", "--store", tmpfs / "store", "--set", "replicates=2").returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", tmpfs], check=True)
    listed = cli("results", path, "--store", tmpfs / "store", "--format", "csv")
    assert (listed.returncode, len(listed.stdout.splitlines())) == (0, 5)
    ran = cli("run", path, "--executor", "serial", "--store", tmpfs / "store", "--set", "replicates=3")
    assert ran.returncode == 2
    assert "cannot be written" in ran.stderr
    assert "Traceback" not in ran.stderr


def open_files():
    found = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return [target for path in found if path.is_symlink() and (target := os.readlink(path)).endswith(".sqlite")]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed on Linux only")
def test_whatever_opens_a_store_closes_it(faulty, suite_file, tmp_path, printed):
    """A store that stays open keeps its write-ahead log beside it and its file from being moved."""
    path, store = suite_file(learner=[{"name": "mean"}]), tmp_path / "store"
    session = bfc_bench.run_suite(path, bfc_bench.RunOptions(store=store, executor="serial"))
    read_results(path, store=store)
    judge_claims(path, store=store)
    with bfc_bench.open_store(store) as results:
        results["tiny"].rows()
        assert open_files()
    for arguments in (["results", path], ["claims", path], ["plan", path], ["report", path], ["doctor"]):
        printed(*arguments, "--store", store)
    assert open_files() == []
    assert sum(file.stat().st_size for file in store.glob("*-wal")) == 0  # the file alone holds everything
    for read in (lambda: results["tiny"], session.store.suites):
        with pytest.raises(StoreError, match="is closed; `open_store` opens it again"):
            read()
