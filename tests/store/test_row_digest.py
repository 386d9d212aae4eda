"""A row that was changed after it was written is left out, counted and named, and its cell is computed again."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from functools import partial
from hashlib import blake2b

import pytest

from bfc_bench import RunOptions, run_suite
from bfc_bench.store.merge import merge
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5, reason="a caution", finished_at=1.0)  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    with Store(tmp_path / "s", write=True) as store:
        store.sessions.define("s", 1, {"t": "td"}, {"l": "ld"})
        store.put((replace(ROW, cell=cell), "td", "ld", "") for cell in ("c0", "c1"))
    return tmp_path / "s"


def change(folder, sql):
    with closing(sqlite3.connect(folder / "results.sqlite", isolation_level=None)) as db:
        db.execute(sql)


def check_one_is_left_out(folder):
    with Store(folder) as store:
        for read in (store.rows, store.columns, partial(store.columns, only=("nmse",))):
            with pytest.warns(UserWarning, match="holds 1 row that was changed after it was written, of s@1: c0"):
                rows = read("s", 1, every=True)
            assert [row.cell for row in rows] == ["c1"]
        assert store.known_cells("s", 1).keys() == {"c1"}
    merged = merge([folder], folder.with_name("into"))
    assert merged.new == 1
    assert merged.remarks == [f"{folder} holds 1 row that was changed after it was written; it was refused."]


def test_the_digest_is_that_of_the_columns_with_the_content(folder):
    with Store(folder) as store:
        for cell, text, digest in store.read("SELECT cell, row, row_digest FROM rows"):
            assert digest == blake2b(f"{cell}\ntd\nld\n{text}\n".encode(), digest_size=8).digest()


@pytest.mark.parametrize(
    "sql",
    [
        "row = json_set(row, '$.nmse', 0.25)",
        "row = row || ' '",
        "traceback = 'x'",
        "task_digest = 'other'",
        "learner_digest = 'other'",
        "row_digest = NULL",
        "row_digest = x'0011223344556677'",
    ],
)
def test_a_row_that_was_changed_is_left_out(sql, folder):
    change(folder, f"UPDATE rows SET {sql} WHERE cell = 'c0'")
    check_one_is_left_out(folder)


@pytest.mark.parametrize("bit", range(8))
def test_any_flipped_bit_of_a_row_leaves_out_that_row_only(bit, folder):
    path = folder / "results.sqlite"
    content = bytearray(path.read_bytes())
    at = content.index(b"a caution", content.index(b'{"cell":"c0"'))
    content[at] ^= 1 << bit
    path.write_bytes(content)
    check_one_is_left_out(folder)


def test_a_column_that_repeats_a_value_must_agree_when_stores_are_merged(folder):
    change(folder, "UPDATE rows SET device = 'cuda' WHERE cell = 'c0'")
    assert merge([folder], folder.with_name("into")).new == 1


def test_a_merge_brings_a_row_back_that_was_changed_in_the_target(folder):
    merge([folder], folder.with_name("into"))
    change(folder, "UPDATE rows SET row = json_set(row, '$.nmse', 0.25) WHERE cell = 'c0'")
    assert merge([folder.with_name("into")], folder).new == 1
    with Store(folder) as store:
        assert [row.nmse for row in store.rows("s", 1)] == [0.5, 0.5]


def test_the_next_run_computes_the_cell_again(faulty, suite_file, tmp_path):
    path = suite_file(learner=[{"name": "mean"}])
    options = RunOptions(store=tmp_path / "store", executor="serial")
    run_suite(path, options)
    with Store(tmp_path / "store") as store:
        before = store.rows("tiny", 1)
    change(tmp_path / "store", "UPDATE rows SET row = json_set(row, '$.nmse', 9.0) WHERE n = 10")
    with pytest.warns(UserWarning, match="holds 1 row that was changed"):
        assert run_suite(path, options).statuses == {"ok": 1}
    with Store(tmp_path / "store") as store:
        assert [row.nmse for row in store.rows("tiny", 1)] == [row.nmse for row in before]
