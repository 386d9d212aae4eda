"""Texts of rows in a store's file, as they are read: nothing that a terminal obeys gets through."""

import json

import pytest

from bfc_bench.store.row import ROW_BYTES, Row
from bfc_bench.store.stored_text import parse_row

ROW = Row(cell="c0", suite="s", suite_version=1, task="t", learner="l", label="l", options={"a": 1}, d=2, n=3,
          replicate=0, status="ok", nmse=0.5)  # fmt: skip


@pytest.mark.parametrize("escaped", [True, False])
@pytest.mark.parametrize(
    ("character", "shown"), [("\x7f", r"\x7f"), ("\x1b", r"\x1b"), ("\u202e", r"\u202e"), ("é", "é")]
)
def test_control_characters_are_shown_however_the_file_has_them(character, shown, escaped):
    text = json.dumps(ROW.as_dict() | {"reason": f"a{character}b"}, ensure_ascii=escaped)
    assert parse_row(text, "c0")["reason"] == f"a{shown}b"


def test_a_row_of_another_cell_or_of_any_size_is_refused():
    text = json.dumps(ROW.as_dict())
    assert Row.read(parse_row(text, "c0")) == ROW
    assert parse_row(text + " " * (ROW_BYTES - len(text)), "c0")
    for wrong, cell in ((text, "c1"), (text.encode(), "c0"), (text + " " * (ROW_BYTES - len(text) + 1), "c0")):
        with pytest.raises(ValueError, match=r"."):
            parse_row(wrong, cell)
