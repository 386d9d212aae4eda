"""Whatever a learner raises or says becomes a row that every reader can read."""

import json
import math
import signal
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from sent_rows import BATCH, row
from stored_rows import read_results

from bfc_bench import RunOptions, run_suite
from bfc_bench.learner import Failure
from bfc_bench.run.fitting import attempt
from bfc_bench.run.wire_format import ROW_BYTES, pack, receive
from bfc_bench.utils.escape_control import TEXT, visible
from bfc_bench.utils.plain_json import plain_json

ENDING = ("SystemExit", "KeyboardInterrupt", "GeneratorExit")
PLACES = ("fit", "predict", "batch_key", "info", "hidden", "stages")
SAID = {
    "unpicklable": "Unpicklable: stays here",
    "unprintable": "Unprintable: (its text is lost: asking for it raised RuntimeError)",
    "surrogates": r"ValueError: half \ud800, \x1b[31mred\x1b[0m, \u202eturned",
    "long": "aaa\n[... ",
}
TOLD = {
    "status": ("failed", "ValueError: status: Input should be 'ok', 'failed'"),
    "reason": ("failed", "ValueError: reason: Input should be a valid string"),
    "huge": ("diverged", "predictions up to 1e+200 are finite, but their nmse is inf"),
    "digits": ("failed", "talkative: info must be plain facts of the fit. ValueError: integers must have at most"),
    "object": ("failed", "talkative: info must be plain facts of the fit. RuntimeError: lost for words"),
    "itself": ("failed", "talkative: info must be plain facts of the fit. ValueError: must not be nested more than"),
    "much": ("failed", "ValueError: a row must take at most"),
}


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


@pytest.fixture(params=["processes", "serial"])
def rows(request, faulty, suite_file, tmp_path):
    """The rows of n = 20 by label, and that the run went on to the end."""
    raised = [(what, where) for what in ENDING for where in PLACES] + [(what, "fit") for what in SAID]
    if request.param == "serial":  # KeyboardInterrupt is taken for Ctrl-C there; this batch_key waits for a worker
        raised = [(what, where) for what, where in raised if what != "KeyboardInterrupt" and where != "batch_key"]
    options = [("raising", f"{what}-{where}", {"what": what, "where": where}) for what, where in raised]
    options += [("talkative", what, {"what": what}) for what in TOLD]
    learners = [{"name": name, "label": label, "options": values} for name, label, values in options]
    learners.append({"name": "mean"})
    path = suite_file(learner=learners)
    session = run_suite(path, RunOptions(store=tmp_path / "store", jobs=1, executor=request.param))
    assert (session.exit_code, session.interrupted) == (1, False)
    with closing(sqlite3.connect(tmp_path / "store" / "results.sqlite")) as base:
        texts = [text for (text,) in base.execute("SELECT row FROM rows")]
    for text in texts:
        json.loads(text, parse_constant=refuse)
        assert json.loads(text)["reason"].isprintable() or "\n" in json.loads(text)["reason"]
    found = read_results(path, store=tmp_path / "store")
    assert len(found) == 2 * len(learners)
    fine = {(row.status, row.reason) for row in found if row.n == 10 or row.label == "mean"}
    assert {status for status, _ in fine} == {"ok"}, fine
    return {row.label: row for row in found if row.n == 20}


def test_whatever_a_learner_raises_or_says_is_a_row(rows):
    for what in ENDING:
        for where in PLACES:
            if (row := rows.get(f"{what}-{where}")) is not None:
                assert (row.status, what in row.reason) == ("failed", True), (what, where, row.reason)
    for what, reason in SAID.items():
        row = rows[f"{what}-fit"]
        assert (row.status, reason in row.reason) == ("failed", True), (what, row.reason)
        assert len(row.reason) < TEXT + 100
    for what, (status, reason) in TOLD.items():
        assert (rows[what].status, reason in rows[what].reason) == (status, True), (what, rows[what].reason[:200])


LARGE = {"info": "x" * TEXT, "more": ["y" * TEXT] * (ROW_BYTES // TEXT)}


@pytest.mark.parametrize("changes", [{"status": "exploded"}, {"stages": {"1": {"nmse": math.inf}}}, {"chosen": LARGE}])
def test_a_row_that_does_not_fit_the_schema_is_not_sent(changes):
    with pytest.raises(ValueError, match=r"."):
        pack(row(**changes), "")


def test_numbers_come_through_bit_for_bit():
    rng = np.random.default_rng(0)
    numbers = [*np.ldexp(rng.random(1000), rng.integers(-1070, 1020, 1000)).tolist(), 5e-324, -0.0, 0.1]
    sent = row(nmse=0.1 + 0.2, chosen={"info": plain_json({"x": numbers, "s": {3, 1}, "n": np.float32(0.1)})})
    ((got, trace, _),), _ = receive(BATCH, b"{}\n" + pack(sent, "line\nline"))
    assert np.array(got.chosen["info"]["x"]).tobytes() == np.array(numbers, float).tobytes()
    assert (got.nmse, got.chosen["info"]["s"], trace) == (0.1 + 0.2, [1, 3], "line\nline")
    assert got == sent


LINE = b"{}\n" + pack(row(nmse=0.5), "")
HALF = LINE.removesuffix(b'"",{}]') + rb'"\ud800",{}]'
"""A row whose traceback, half a surrogate pair, no store can hold."""


NO_RESULTS = [None, b"", b"{}", b"{}\n[]", b"{}\nnot json", LINE + b"\n", LINE + LINE[2:], HALF]
OF_ANOTHER_BATCH = [LINE.replace(b'"ok"', b'"so"'), LINE.replace(b'"c"', b'"d"')]
NO_NUMBERS = [LINE.replace(b"0.5", number) for number in (b"NaN", b"Infinity", b"1e999")]


@pytest.mark.parametrize("sent", [*NO_RESULTS, *OF_ANOTHER_BATCH, *NO_NUMBERS])
def test_the_session_refuses_what_is_no_result_of_its_batch(sent):
    receive(BATCH, LINE)
    with pytest.raises((ValueError, TypeError)):
        receive(BATCH, sent)


def test_texts_are_visible_short_and_otherwise_as_they_were():
    assert visible("plain, \tünïcode 漢字 🎉\n") == "plain, \tünïcode 漢字 🎉\n"
    assert visible("\x00\r\x9b\u2066\udfff") == r"\x00\r\x9b\u2066\udfff"
    cut = visible("a" * TEXT + "b" * TEXT)
    assert cut.startswith("a" * (TEXT // 2))
    assert cut.endswith("b" * (TEXT // 2))
    assert f"[... {TEXT} characters ...]" in cut


@pytest.fixture
def on_sigint():
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_a_keyboard_interrupt_is_the_users_where_ctrl_c_would_raise_one(on_sigint):
    def interrupted():
        raise KeyboardInterrupt

    on_sigint(signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        attempt(interrupted)
    on_sigint(signal.SIG_IGN)
    failure = attempt(interrupted)
    assert isinstance(failure, Failure)
    assert failure.reason == "KeyboardInterrupt: "
