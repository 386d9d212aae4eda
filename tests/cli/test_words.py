"""Short texts that say the right thing: counts, values, what is to do, and words of theory."""

import warnings
from importlib.metadata import version

import pytest

import bfc_bench as bb
from bfc_bench.run.session import counts_text


def test_the_package_says_its_release():
    assert bb.__version__ == version("bfc-bench")


@pytest.mark.parametrize(
    ("statuses", "todo", "words"),
    [({"ok": 2, "failed": 1}, 5, "1 failed, 2 ok"), ({}, 36, "36 to do"), ({}, 0, "nothing to do")],
)
def test_a_run_that_was_cut_off_before_its_first_row_has_something_to_do(statuses, todo, words):
    assert counts_text(statuses, todo) == words


def test_one_is_not_many(suite_file, tmp_path, cli, printed):
    task = {"name": "t", "d": [4], "inputs": {"kind": "gaussian"}, "target": {"kind": "linear"}, "n": [40]}
    path = suite_file(task=[task], learner=[{"name": "kernel-ridge"}], replicates=1)
    store, bundle = tmp_path / "store", tmp_path / "b.zip"
    said = printed("run", path, "--store", store, "--executor", "serial")
    said += printed("bundle", "--store", store, "--output", bundle)
    said += printed("merge", store, "--into", tmp_path / "copy")
    said += cli("verify", bundle, "--cells", "1", "--executor", "serial").stdout
    (page,) = (tmp_path / "store" / "reports").rglob("report.html")
    assert "a polynomial kernel of degree 2 has degree 4 in x" in page.read_text()
    for words in ("1 row of 1 suite", "1 suite;", "1 new row,", "1 new run.", "1 cell reproduced", "0 differences"):
        assert words in said


def test_words_that_mean_something_else_to_a_theorist_say_so(printed):
    for name, words in (("staircase", "[[1], [1, 1], [1, 1, 1]]"), ("kernel-ridge", "degree 4 in x")):
        assert words in " ".join(printed("show", name).split())


def test_a_dimension_that_the_suite_lacks_gives_a_warning():
    with pytest.warns(UserWarning, match="smoke/teacher-L3 has d = 10 in its suite, whose results have no d = 11"):
        bb.load_task("smoke/teacher-L3", d=11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bb.load_task("smoke/teacher-L3", d=10)
