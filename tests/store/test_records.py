"""A store that another person made is data: a record that bfc-bench could not have written is one line."""

import json
import os
from dataclasses import replace

import pytest
from stored_rows import change
from synthetic import row

from bfc_bench.errors import StoreError
from bfc_bench.store import artifacts
from bfc_bench.store.merge import merge
from bfc_bench.store.row import cell_id, curve_digest
from bfc_bench.store.store import Store

CELL = cell_id(curve_digest("td", "ld", "l"), 2, 3, 0)
ROW = row(cell=CELL, suite="s", task="t", label="l", d=2, n=3, replicate=0, provenance="run", nmse=0.5, finished_at=1.0)
PNG = b"\x89PNG\r\n\x1a\n"


def store_of(folder, *rows, files=None):
    with Store(folder, write=True) as store:
        store.begin_session("run", "s", 1, {"name": "s", "version": 1, "levels": [0.1]}, {})
        store.define("s", 1, {"t": "td"}, {"l": "ld"})
        store.put([(row, "td", "ld", "") for row in rows], {rows[0].cell: files} if files else {})
    return folder


@pytest.mark.parametrize("odd", [{"nmse": [0.5]}, {"suite": "../s"}])
def test_a_row_that_could_not_be_written_is_refused_with_its_number(odd, tmp_path):
    folder = store_of(tmp_path / "s", replace(ROW, cell=cell_id(curve_digest("td", "ld", "l"), 2, 4, 0), n=4), ROW)
    change(folder, "UPDATE rows SET row = ? WHERE cell = ?", json.dumps(ROW.as_dict() | odd), ROW.cell)
    with Store(folder) as store:
        for read in (store.rows, store.columns):
            with pytest.raises(StoreError, match="row 2 is not one that bfc-bench wrote"):
                read("s", 1)
    with pytest.raises(StoreError, match="record 2 of the table 'rows' is not one that bfc-bench wrote"):
        merge([folder], tmp_path / "into")
    assert not (tmp_path / "into").exists()


@pytest.mark.parametrize(
    ("column", "value"),
    [("suite", "../x"), ("version", 1.5), ("started_at", -1.0), ("definition", "[1]"), ("provenance", "no")],
)
def test_a_run_of_a_suite_that_cannot_be_is_refused(column, value, tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    change(folder, f"UPDATE sessions SET {column} = ?", value)
    with Store(folder) as store, pytest.raises(StoreError, match="record 1 of the table 'sessions' is not one"):
        store.suites()
    with pytest.raises(StoreError):
        merge([folder], tmp_path / "into")
    assert not (tmp_path / "into").exists()


def listed(folder, cell=ROW.cell):
    with Store(folder) as store:
        return set(store.artifacts(cell))


def test_artifacts_are_regular_files_of_known_kinds_inside_the_store(tmp_path):
    row = replace(ROW, artifacts=artifacts.digests({"a.png": PNG, "b.png": PNG + b"b", "look.html": PNG}))
    folder = store_of(tmp_path / "s", row, files={"a.png": PNG, "b.png": PNG + b"b", "look.html": PNG})
    assert listed(folder) == {"a.png", "b.png"}
    place = artifacts.folder(folder, "s", 1, ROW.cell)
    (tmp_path / "elsewhere.png").write_bytes(PNG)
    (place / "a.png").unlink()
    (place / "a.png").symlink_to(tmp_path / "elsewhere.png")
    (place / "b.png").unlink()
    os.mkfifo(place / "b.png")
    assert listed(folder) == set()


def test_a_folder_of_artifacts_that_is_a_link_is_not_followed(tmp_path):
    row = replace(ROW, artifacts=artifacts.digests({"a.png": PNG}))
    folder = store_of(tmp_path / "s", row, files={"a.png": PNG})
    suite = folder / "artifacts" / "s@1"
    suite.rename(tmp_path / "deep")
    suite.symlink_to(tmp_path / "deep")
    assert listed(folder) == set()
    merge([folder], tmp_path / "into")
    assert not list((tmp_path / "into").glob("artifacts/*/*"))


def test_a_damaged_file_is_one_message(tmp_path):
    folder = store_of(tmp_path / "s", ROW)
    content = (folder / "results.sqlite").read_bytes()
    (folder / "results.sqlite").write_bytes(content.replace(b"CREATE TABLE sessions", b"CREATE \xd4ABLE sessions"))
    with pytest.raises(StoreError, match="cannot be read"):
        Store(folder)
