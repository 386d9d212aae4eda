"""Rows of other releases are read by this one."""

from bfc_bench.store.row import Row

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
