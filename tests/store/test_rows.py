"""Columns say of many rows what the rows say one by one."""

import io
import math

import numpy as np
import pytest
import synthetic

from bfc_bench import open_store
from bfc_bench.errors import StoreError
from bfc_bench.store.export import csv_parts, frame_of, json_parts, parquet_bytes
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store


def row(label="a", d=5, n=10, replicate=0, **values):
    return synthetic.row(suite="s", task="t", label=label, d=d, n=n, replicate=replicate, **values)


NESTED = [
    row("b", nmse=0.1, stages={"one": {"nmse": 0.3, "feature_errors": {"S2": 2.0}}}, feature_errors={"S2": 1e-300}),
    row("a", nmse=0.1 + 0.2, stages={"a.b": {"nmse": None}}, chosen={"tuned": {"ridge": 1.0}, "info": {"x": 3}}),
    row("a", replicate=1, status="failed", reason="why", device="cpu"),
    row("a", n=20, nmse=math.inf, chosen={"info": {"x": 10**2000}}),
]


def test_numbers_are_those_of_the_rows_bit_for_bit_and_nan_where_there_is_none():
    rows = Rows.of(NESTED)
    np.testing.assert_array_equal(rows.number("nmse"), [0.1, 0.1 + 0.2, math.nan, math.nan])
    np.testing.assert_array_equal(rows.number("feature_errors", "S2"), [1e-300, math.nan, math.nan, math.nan])
    np.testing.assert_array_equal(rows.number("stages", "one", "feature_errors", "S2")[:1], [2.0])
    np.testing.assert_array_equal(rows.number("chosen", "info", "x"), [math.nan, 3.0, math.nan, math.nan])
    assert np.isnan(rows.number("no", "such", "path")).all()
    assert rows.names("stages") == ["one", "a.b"]


def test_selections_and_groups_keep_rows_and_their_order():
    rows = Rows.of(NESTED)
    assert list(rows) == NESTED
    assert list(rows.where(label="a", n=10)) == NESTED[1:3]
    assert list(rows.where(label=("a", "b"), status="ok", d=5)) == [NESTED[0], NESTED[1], NESTED[3]]
    assert {key: list(group) for key, group in rows.groups("label", "n").items()} == {
        ("b", 10): NESTED[:1],
        ("a", 10): NESTED[1:3],
        ("a", 20): NESTED[3:],
    }
    assert list(rows.groups("label", "n")) == [("b", 10), ("a", 10), ("a", 20)]
    assert list(rows[::-1].groups("n")) == [(20,), (10,)]
    assert rows.column("reason") == ["", "", "why", ""]
    assert rows.distinct("tuned") == [None, {"ridge": 1.0}]
    assert (rows.distinct("label"), rows[::-1].distinct("label")) == (["b", "a"], ["a", "b"])
    assert len(rows[1:3]) == 2
    assert not rows.where(task="other")
    assert Rows.of([]).groups("task") == {}


@pytest.fixture
def store(tmp_path):
    made = [row(label, d, n, r, nmse=n / 7 + r) for r in (1, 0) for n in (200, 30) for d in (10, 5) for label in "ba"]
    with Store(tmp_path, write=True) as store:
        store.begin_session("x", "s", 1, {}, {})
        store.define("s", 1, {"t": "T"}, {"a": "A", "b": "B"})
        store.put((found, "T", found.label.upper(), "") for found in made)
        yield store


def test_places_are_where_the_rows_of_a_curve_stand_in_a_selection_too():
    rows = Rows.of(NESTED)
    assert {curve: at.tolist() for curve, at in rows.positions_by_curve.items()} == {
        ("t", "b", 5): [0],
        ("t", "a", 5): [1, 2, 3],
    }
    assert {curve: at.tolist() for curve, at in rows[2:].positions_by_curve.items()} == {("t", "a", 5): [0, 1]}
    assert rows[:0].positions_by_curve == {}


def test_columns_that_are_read_in_parts_are_in_the_order_of_the_grid_and_kept(store, monkeypatch):
    monkeypatch.setattr("bfc_bench.store.store.READ_TOGETHER", 5)
    columns, rows = store.columns("s", 1), store.rows("s", 1)
    assert list(columns) == rows
    np.testing.assert_array_equal(columns.number("nmse"), [row.nmse for row in rows])
    assert store.columns("s", 1) is columns
    assert store.distinct("s", 1, "label") == ["a", "b"]


@pytest.mark.parametrize("parts", [csv_parts, json_parts])
def test_what_is_printed_of_rows_takes_them_one_by_one(store, parts):
    taken = []
    written = parts(taken.append(found) or found for found in store.each("s", 1))
    assert next(iter(written))
    assert len(taken) <= 1
    rest = b"".join(written)
    assert len(taken) == 16
    assert all(found.cell.encode() in rest for found in taken[1:])


def test_a_frame_has_nan_where_a_row_has_no_such_entry():
    frame = frame_of(iter(NESTED[:3]))
    assert frame["label"].tolist() == ["b", "a", "a"]
    assert not any(isinstance(value, dict) for column in frame for value in frame[column])
    np.testing.assert_array_equal(frame["feature_errors.S2"], [1e-300, math.nan, math.nan])
    np.testing.assert_array_equal(frame["chosen.tuned.ridge"], [math.nan, 1.0, math.nan])
    assert list(frame)[:3] == ["cell", "suite", "suite_version"]
    assert list(frame).index("chosen.info.x") > list(frame).index("finished_at")  # as they are met first


def test_a_nested_column_of_numbers_and_texts_is_one_of_texts_in_parquet():
    import pandas as pd

    values = ["auto", 0.1, None]
    rows = [row(n=n, options={"ridge": value} if value else {}) for n, value in enumerate(values, 1)]
    file = parquet_bytes(rows, ["n", "options.ridge"], {"options.ridge": values[:2]})
    read = pd.read_parquet(io.BytesIO(file))["options.ridge"]
    assert (read[:2].tolist(), read.isna().tolist()) == (['"auto"', "0.1"], [False, False, True])


def test_columns_are_read_again_when_somebody_has_written(store, tmp_path):
    with open_store(tmp_path) as other:
        before = other.store.columns("s", 1)
        assert other.store.columns("s", 1) is before
        store.put([(row("a", 5, 30, 0, nmse=0.5), "T", "A", "")])
        after = other.store.columns("s", 1)
        assert (len(before), len(after)) == (16, 16)
        assert 0.5 in after.number("nmse")
        with pytest.raises(StoreError, match="replaced while it was read"):
            list(before)
