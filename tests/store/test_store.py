import json
import os
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import bfc_bench
from bfc_bench.cli.app import run
from bfc_bench.errors import StoreError
from bfc_bench.store.row import Origin, Row
from bfc_bench.store.store import SCHEMA, Store

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={"a": 1}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, finished_at=1.0)  # fmt: skip


def fill(store: Store, cells: int, padding: str = "") -> None:
    for i in range(cells):
        store.put([(replace(ROW, cell=f"c{i}", n=i + 1, reason=padding), "td", "ld", "")])


def test_rows_come_back_as_they_were(tmp_path):
    store = Store(tmp_path, write=True)
    store.define("s", 1, {"t": "td"}, {"l": "ld"})
    store.put([(ROW, "td", "ld", "")])
    assert Store(tmp_path).rows("s", 1) == [ROW]
    store.put([(replace(ROW, nmse=0.25), "td", "ld", "")])
    assert [row.nmse for row in Store(tmp_path).rows("s", 1)] == [0.25]


def test_a_newer_schema_is_refused_with_both_numbers(tmp_path):
    Store(tmp_path, write=True).close()
    db = sqlite3.connect(tmp_path / "results.sqlite")
    db.execute(f"PRAGMA user_version = {SCHEMA + 6}")
    db.close()
    for write in (True, False):
        with pytest.raises(StoreError, match=f"schema {SCHEMA + 6}; this bfc-bench knows schemas up to {SCHEMA}"):
            Store(tmp_path, write=write)


def test_a_missing_store_says_how_to_make_one(tmp_path):
    with pytest.raises(StoreError, match=r"no store in .*bfc-bench run SUITE"):
        Store(tmp_path / "nowhere")


def test_a_file_that_is_no_store_is_an_error(tmp_path):
    (tmp_path / "results.sqlite").write_text("this is not a database, it is a text of some length" * 100)
    with pytest.raises(StoreError, match="not a database"):
        Store(tmp_path, write=True)


def test_a_full_disk_is_a_clear_error_and_the_store_stays_readable(tmpfs):
    store = Store(tmpfs / "store", write=True)
    store.define("s", 1, {"t": "td"}, {"l": "ld"})
    with pytest.raises(StoreError, match=r"full.*stays readable.*free space"):
        fill(store, 1000, "x" * 2000)
    kept = store.rows("s", 1)
    assert len(kept) > 10
    store.close()
    assert Store(tmpfs / "store").rows("s", 1) == kept


def test_a_full_disk_ends_the_command_without_a_traceback(tmpfs, faulty, suite_file, bench):
    path = suite_file(learner=[{"name": "mean"}], replicates=300)
    ran = bench("run", path, "--store", tmpfs / "store", "--no-mlflow", "--executor", "serial")
    assert ran.returncode == 1
    assert "full" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(Store(tmpfs / "store").rows("tiny", 1)) > 10


def test_a_read_only_store_can_be_read_but_not_run(tmpfs, faulty, suite_file, bench):
    path = suite_file(learner=[{"name": "mean"}])
    assert bench("run", path, "--store", tmpfs / "store", "--no-mlflow", "--set", "replicates=2").returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", tmpfs], check=True)
    listed = bench("results", path, "--store", tmpfs / "store", "--format", "csv")
    assert (listed.returncode, len(listed.stdout.splitlines())) == (0, 5)
    ran = bench("run", path, "--store", tmpfs / "store", "--no-mlflow", "--set", "replicates=3")
    assert ran.returncode == 1
    assert "cannot be written" in ran.stderr
    assert "Traceback" not in ran.stderr


SCHEMA_1 = """
CREATE TABLE rows (
  cell TEXT PRIMARY KEY, suite TEXT, version INTEGER, task TEXT, label TEXT, d INTEGER, n INTEGER, replicate INTEGER,
  status TEXT, task_digest TEXT, learner_digest TEXT, row TEXT, traceback TEXT);
CREATE INDEX rows_by_suite ON rows (suite, version);
CREATE TABLE definitions (
  suite TEXT, version INTEGER, kind TEXT, name TEXT, digest TEXT, PRIMARY KEY (suite, version, kind, name));
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, suite TEXT, version INTEGER, started_at REAL, finished_at REAL,
  definition TEXT, provenance TEXT);
PRAGMA user_version = 1;
"""


@pytest.fixture
def old_store(tmp_path):
    """A store as the first schema had it, with one row, whose degree error stands among the feature errors."""
    old = {k: v for k, v in ROW.as_dict().items() if k not in ("release", "learner_version", "part_errors", "metrics")}
    old |= {"device": "cpu", "feature_errors": {"S2": 0.5, "degree1": -0.25}}
    db = sqlite3.connect(tmp_path / "results.sqlite")
    db.executescript(SCHEMA_1)
    values = ("c0", "s", 1, "t", "l", 2, 3, 0, "ok", "td", "ld", json.dumps(old), "")
    db.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    db.executemany("INSERT INTO definitions VALUES ('s', 1, ?, ?, ?)", [("task", "t", "td"), ("learner", "l", "ld")])
    db.commit()
    db.close()
    return tmp_path


def test_a_store_of_the_first_schema_is_read_as_it_is_and_upgraded_when_written(old_store):
    def rows_and_origin(store):
        (row,) = store.rows("s", 1)
        return row.nmse, row.feature_errors, row.part_errors, row.origin, store.held("s", 1)["c0"].status

    expected = (0.5, {"S2": 0.5}, {"degree1": -0.25}, Origin(None, "cpu", None), "ok")
    with Store(old_store) as store:
        assert rows_and_origin(store) == expected
        assert store.learner_versions("s", 1) == {}
    with Store(old_store, write=True) as store:
        assert rows_and_origin(store) == expected
        assert store.held("s", 1)["c0"].origin == Origin(None, "cpu", None)
        store.put([(replace(ROW, cell="c1", n=4, release="1.0", device="cpu", learner_version=2), "td", "ld", "")])
    with Store(old_store) as store:
        assert store.held("s", 1)["c1"].origin == Origin("1.0", "cpu", 2)
        assert store.learner_versions("s", 1) == {"l": {2: 1}}


def open_files() -> list[str]:
    found = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return [target for path in found if path.is_symlink() and (target := os.readlink(path)).endswith(".sqlite")]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed on Linux only")
def test_whatever_opens_a_store_closes_it(faulty, suite_file, tmp_path):
    """A store that stays open keeps its write-ahead log beside it and its file from being moved."""
    path, store = suite_file(learner=[{"name": "mean"}]), tmp_path / "store"
    bfc_bench.run_suite(path, store=store, executor="serial")
    bfc_bench.read_results(path, store=store)
    bfc_bench.judge_claims(path, store=store)
    with bfc_bench.open_store(store) as results:
        results["tiny"].rows()
        assert open_files()
    for arguments in (["results", path], ["claims", path], ["plan", path], ["report", path], ["doctor"]):
        assert run([*map(str, arguments), "--store", str(store)]) == 0
    assert open_files() == []
    assert sum(file.stat().st_size for file in store.glob("*-wal")) == 0  # the file alone holds everything
    with pytest.raises(StoreError, match="closed"):
        results["tiny"]
