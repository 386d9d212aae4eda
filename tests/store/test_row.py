"""Rows of other releases are read by this one."""

import json
import math
from typing import Any

import pytest

from bfc_bench.store.row import ROW_BYTES, Row, parse

VALUES = {
    "cell": "c0", "suite": "s", "suite_version": 1, "task": "t", "learner": "l", "label": "l", "options": {"a": 1},
    "d": 2, "n": 3, "replicate": 0, "status": "ok", "nmse": 0.5,
}  # fmt: skip


def read(values, *, ascii=True):
    return Row(**parse(json.dumps(values, ensure_ascii=ascii)))


def test_a_row_is_read_as_it_was_written():
    row = Row(**VALUES, feature_errors={"S2": 0.25, "degree9": 0.5}, part_errors={"degree1": -0.001})
    assert read(row.as_dict()) == row


def test_columns_of_a_newer_release_are_left_out():
    assert read(VALUES | {"part_errors": {}, "invented_later": 1}) == Row(**VALUES)


def test_control_characters_in_a_stored_row_reach_no_terminal():
    said, shown = "a\x1b[31mred\u202e\n" + "long " * 4000, r"a\x1b[31mred\u202e" + "\n" + "long " * 4000
    texts = {"reason": said, "stages": {said: {"reason": said}}, "chosen": {"info": {"facts": [said, 1.5, None]}}}
    row = read(VALUES | texts | {"metrics": {said: 0.5}, "floors": {f"metrics.{said}": 0.1}})
    assert row.reason == shown
    assert (row.metrics, row.floors) == ({shown: 0.5}, {f"metrics.{shown}": 0.1})
    assert row.stages == {shown: {"reason": shown}}
    assert row.chosen == {"info": {"facts": [shown, 1.5, None]}}
    assert read(row.as_dict()) == row


@pytest.mark.parametrize("ascii", [True, False])
@pytest.mark.parametrize(
    ("character", "shown"), [("\x7f", r"\x7f"), ("\x1b", r"\x1b"), ("\u202e", r"\u202e"), ("é", "é")]
)
def test_control_characters_are_shown_however_the_file_has_them(character, shown, ascii):
    assert read(VALUES | {"reason": f"a{character}b"}, ascii=ascii).reason == f"a{shown}b"


def test_nested_values_have_dotted_names():
    row = Row(**VALUES, metrics={"a.b": 2.0}, stages={"one": {"metrics": {"c": 3.0}}}, axes={"m": 4})
    names = ["n", "options.a", "metrics.a.b", "stages.one.metrics.c", "axes.m", "axes.k", "metrics"]
    assert row.cells(names) == [3, 1, 2.0, 3.0, 4, None, {"a.b": 2.0}]


LIMITS: dict[str, tuple[Any, Any]] = {
    "d": ([1, 2**53], [0, 2**53 + 1, 2.0, True]),
    "n": ([1, 2**53], [0, 2**53 + 1]),
    "replicate": ([0, 2**53], [-1, 2**53 + 1]),
    "suite": (["s"], ["../s"]),
    "suite_version": ([0, 2**53], [-1, 2**53 + 1]),
    "learner_version": ([2**53, None], [2**53 + 1]),
    "peak_memory_bytes": ([2**53, None], [2**53 + 1]),
    "trained_together": ([2**53, None], [2**53 + 1]),
    "seed": ([2**63 - 1, None], [2**63]),
    "status": (["ok", "killed"], ["fine"]),
    "options": ([{}], [None]),
    "metrics": ([{"m": 0.5}], [{"m": "x"}]),
    "artifacts": ([{"a.png": "1"}], [{"a.png": 1}]),
    "nmse": ([0.0, 1e300, None], [-1e-9, 1e301, math.inf, math.nan, "0.5"]),
    "train_nmse": ([0.0, None], [-1e-9]),
    "nmse_trimmed": ([0.0, None], [-1e-9]),
    "error_rate": ([0.0, 1.0, None], [-1e-9, 1 + 1e-9]),
    "finished_at": ([0.0, 1e11, None], [-1.0, 1.1e11, "yesterday"]),
    "cell": (["a", "a" * 64], ["", "a" * 65, "../a", "a b", "a\n"]),
    "task": (["a", "a.b:c@1+2-3_4"], ["", "../a", ".a", "a/b", "a b"]),
    "label": (["l" * 80], ["l" * 81, "\x1b[31ml"]),
    "learner": (["l" * 500], ["l" * 501]),
    "device": (["cpu", None], ["c" * 501]),
}
"""What a column may have, up to its ends, and what it may not. Integers are those that a float has exactly."""


def is_parsed(text):
    try:
        parse(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("column", LIMITS)
def test_a_row_has_values_that_this_program_could_have_written(column):
    good, bad = LIMITS[column]
    row = Row(**VALUES).as_dict()
    for value, expected in [*((value, True) for value in good), *((value, False) for value in bad)]:
        assert is_parsed(json.dumps(row | {column: value})) is expected


def test_a_text_that_is_no_row_is_refused():
    text = json.dumps(Row(**VALUES).as_dict())
    assert is_parsed(text + " " * (ROW_BYTES - len(text)))
    part = json.dumps({name: value for name, value in VALUES.items() if name != "options"})
    for wrong in (part, "{", "[]", text.encode(), text + " " * (ROW_BYTES - len(text) + 1)):
        assert not is_parsed(wrong)
