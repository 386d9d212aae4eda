import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bfc_bench.errors import StoreError
from bfc_bench.store.row import Row
from bfc_bench.store.store import SCHEMA, Store

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={"a": 1}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, finished_at=1.0)  # fmt: skip


def fill(store: Store, cells: int, padding: str = "") -> None:
    for i in range(cells):
        store.put([(replace(ROW, cell=f"c{i}", n=i + 1, reason=padding), "td", "ld", "")])


@pytest.fixture
def tmpfs(tmp_path: Path):
    """A file system of 600 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cannot mount a small file system here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


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
