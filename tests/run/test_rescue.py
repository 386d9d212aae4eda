"""Rows that were computed when the store was gone are beside it, and one command adds them to it."""

import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stored_rows import stored_rows

from bfc_bench import RunOptions, hookimpl, run_suite
from bfc_bench.errors import StoreFailure
from bfc_bench.store.backup import backup
from bfc_bench.store.equality import exactly_differing
from bfc_bench.store.store import Store


def wait_for_a_row(store, process):
    for _ in range(1200):
        assert process.poll() is None, process.communicate()
        if (store / "results.sqlite").exists():
            with Store(store) as reading:
                if reading.known_cells("tiny", 1):
                    return
        time.sleep(0.05)
    pytest.fail("the run made no row")


@pytest.mark.parametrize("how", ["folder removed", "file removed", "replaced"])
def test_rows_of_a_run_whose_store_is_gone_are_saved_beside_it(how, faulty, suite_file, bench, tmp_path):
    path, store = suite_file(learner=[{"name": "slow"}], replicates=6), tmp_path / "my store"
    command = [sys.executable, "-m", "bfc_bench", "run", path, "--store", store, "--no-mlflow", "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_a_row(store, process)
    if how == "folder removed":
        store.rename(tmp_path / "gone")
    elif how == "file removed":
        (store / "results.sqlite").rename(tmp_path / "gone")
    else:
        backup(store, tmp_path / "copy")
        Path(shutil.copy(tmp_path / "copy" / "results.sqlite", tmp_path / "aside")).replace(store / "results.sqlite")
    _, errors = process.communicate()
    assert process.returncode == 1
    (error,) = [line for line in errors.splitlines() if "was removed, or replaced" in line]
    merge = shlex.split(re.search(r"`bfc-bench (merge [^`]*)` adds them", error)[1])
    (saved,) = tmp_path.glob("my store.rescued-*")
    assert merge == ["merge", str(saved), "--into", str(store)]
    rows = stored_rows(saved)
    assert f"{len(rows)} row" in error
    assert len(rows) > 0
    assert store.exists() == (how != "folder removed")
    if how == "replaced":  # the log of the run is still there
        assert "belongs to another results.sqlite" in bench(*merge).stderr
        assert bench("restore", tmp_path / "copy", "--store", store).returncode == 0
    before = stored_rows(store) if how == "replaced" else []
    assert not {row.cell for row in rows} & {row.cell for row in before}

    assert bench(*merge).returncode == 0
    merged = {row.cell: row.as_dict() for row in stored_rows(store)}
    assert merged.keys() == {row.cell for row in (*before, *rows)}
    assert bench("run", path, "--store", store, "--no-mlflow").returncode == 0
    whole = {row.cell: row.as_dict() for row in stored_rows(store)}
    assert len(whole) == 12
    run_suite(path, RunOptions(store=tmp_path / "undisturbed"))
    for row in stored_rows(tmp_path / "undisturbed"):
        assert exactly_differing(row.as_dict(), whole[row.cell]) == []


class Remove:
    """Removes the store when the second batch is in it."""

    def __init__(self, store):
        self.store = store

    @hookimpl
    def bfc_run_started(self, session):
        self.saved = self.store.with_name(f"{self.store.name}.rescued-{session.id}")

    @hookimpl
    def bfc_result(self, result):
        if result.replicate == 1 and self.store.exists():
            shutil.rmtree(self.store)


def test_artifacts_are_saved_too_and_nothing_is_written_where_the_store_was(faulty, suite_file, tmp_path):
    remove = Remove(tmp_path / "store")
    options = RunOptions(store=remove.store, executor="serial", listeners=[remove])
    with pytest.raises(StoreFailure, match=r"2 rows that .* are in .*rescued"):
        run_suite(suite_file(learner=[{"name": "artist"}], replicates=3), options)
    assert not remove.store.exists()
    with Store(remove.saved) as reading:
        for row in reading.rows("tiny", 1):
            assert row.replicate == 2
            assert set(reading.artifacts(row.cell)) == set(row.artifacts) != set()


def test_rows_that_cannot_be_saved_are_counted(faulty, suite_file, tmp_path):
    class Obstruct(Remove):
        @hookimpl
        def bfc_result(self, result):
            super().bfc_result(result)
            self.saved.write_text("in the way")

    obstruct = Obstruct(tmp_path / "store")
    options = RunOptions(store=obstruct.store, executor="serial", listeners=[obstruct])
    with pytest.raises(StoreFailure, match=r"2 rows that .* are lost, because they cannot be saved: .* is a file"):
        run_suite(suite_file(learner=[{"name": "mean"}], replicates=3), options)
