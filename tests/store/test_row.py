"""Rows of other releases are read by this one."""

import json
import math
from typing import Any

import pytest

from bfc_bench.store.row import Row, checked_columns, parse

VALUES = {
    "cell": "c0", "suite": "s", "suite_version": 1, "task": "t", "learner": "l", "label": "l", "options": {"a": 1},
    "d": 2, "n": 3, "replicate": 0, "status": "ok", "nmse": 0.5,
}  # fmt: skip


def test_a_row_is_read_as_it_was_written():
    row = Row(**VALUES, feature_errors={"S2": 0.25, "degree9": 0.5}, part_errors={"degree1": -0.001})
    assert Row.read(row.as_dict()) == row


def test_columns_of_a_newer_release_are_left_out():
    assert Row.read(VALUES | {"part_errors": {}, "invented_later": 1}) == Row(**VALUES)


def test_control_characters_in_a_stored_row_reach_no_terminal():
    said, shown = "a\x1b[31mred\u202e\n" + "long " * 4000, r"a\x1b[31mred\u202e" + "\n" + "long " * 4000
    row = Row.read(
        VALUES | {"reason": said, "stages": {said: {"reason": said}}, "chosen": {"info": {"facts": [said, 1.5, None]}}}
    )
    assert row.reason == shown
    assert row.stages == {shown: {"reason": shown}}
    assert row.chosen == {"info": {"facts": [shown, 1.5, None]}}
    assert Row.read(row.as_dict()) == row


LIMITS: dict[str, tuple[Any, Any]] = {
    "d": ([1, 2**53], [0, 2**53 + 1, 2.0, True]),
    "n": ([1, 2**53], [0, 2**53 + 1]),
    "replicate": ([0, 2**53], [-1, 2**53 + 1]),
    "suite_version": ([0, 2**53], [-1, 2**53 + 1]),
    "nmse": ([0.0, 1e300, None], [-1e-9, 1e301, math.inf, math.nan, "0.5"]),
    "train_nmse": ([0.0, None], [-1e-9]),
    "nmse_trimmed": ([0.0, None], [-1e-9]),
    "error_rate": ([0.0, 1.0, None], [-1e-9, 1 + 1e-9]),
    "finished_at": ([0.0, 1e11, None], [-1.0, 1.1e11]),
    "cell": (["a", "a" * 64], ["", "a" * 65, "../a", "a b", "a\n"]),
    "task": (["a", "a.b:c@1+2-3_4"], ["", "../a", ".a", "a/b", "a b"]),
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


def test_columns_of_another_release_are_dropped_and_a_part_of_a_row_needs_fewer():
    row = Row(**VALUES).as_dict()
    assert parse(json.dumps(row | {"invented_later": 1})) == row
    part = {name: value for name, value in row.items() if name != "options"}
    assert not is_parsed(json.dumps(part))
    assert checked_columns(part) == part
    for wrong in ({}, [row]):
        with pytest.raises(ValueError, match=r"."):
            checked_columns(wrong)
    assert not is_parsed("{")
