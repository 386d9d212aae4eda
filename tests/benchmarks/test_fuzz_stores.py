"""The fuzzing run changes stores by its seed, and sees each kind of fault."""

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # last, so that the installed bfc_bench stays the one that is tested

from benchmarks import fuzz_stores
from benchmarks.fuzz_stores import DATA, Case, fuzz, runnable
from benchmarks.store_mutations import MUTATIONS, SCRIPT, SECRET
from bfc_bench import RunOptions, open_store, run_suite
from bfc_bench.errors import StoreError
from bfc_bench.report.site import write_site
from bfc_bench.report.vega import library
from bfc_bench.suite.model import Suite


@pytest.fixture
def base(suite_file, tmp_path):
    """A store with two rows."""
    run_suite(
        suite_file("smoke", learner=[{"name": "kernel-ridge"}]), RunOptions(store=tmp_path / "base", executor="serial")
    )
    return tmp_path / "base"


def refuse(case):
    raise StoreError("refused")


def reads(case):
    pass


def fails(case):
    raise ValueError("odd")


def hangs(case):
    time.sleep(600)


def eats_memory(case):
    bytearray(2 * fuzz_stores.MEMORY)


def writes_above(case):
    (case.folder / "above").write_text("x")


def changes_the_store(case):
    (case.store / "lock").write_text("x")


def publishes_a_script(case):
    _page(case, "index.html", SCRIPT)


def publishes_a_page(case):
    _page(case, "look.html", "")


def publishes_a_secret(case):
    _page(case, "values.csv", SECRET)


def prints_escapes(case):
    print("\x1b[31mred")


def _page(case, name, text):
    folder = case.out / "site"
    folder.mkdir()
    (folder / name).write_text(f'<head><meta http-equiv="Content-Security-Policy" content=""></head><body>{text}')


@pytest.mark.parametrize(
    ("reader", "fault"),
    [
        (refuse, "refused"), (reads, "read"), (fails, "traceback"), (eats_memory, "traceback"),
        (hangs, "hang"), (writes_above, "outside"),
        (changes_the_store, "outside"), (publishes_a_script, "script"), (publishes_a_page, "script"),
        (publishes_a_secret, "leak"), (prints_escapes, "control"),
    ],
)  # fmt: skip
def test_each_fault_is_seen(reader, fault, tmp_path, monkeypatch):
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "lock").touch()
    monkeypatch.setattr(fuzz_stores, "mutate", lambda store, random: "none")
    counts = fuzz(tmp_path / "base", tmp_path / "cases", [1], 0, 30.0 if reader is not hangs else 0.5, {"r": reader})
    assert counts.runs["r", fault] == counts.runs["none", fault] == 1
    assert counts.faults == (fault not in ("read", "refused"))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of a report with a figure and of a site, by name."""
    folder = tmp_path_factory.mktemp("pages")
    task = {"name": "L2", "target": {"kind": "quadratic-densenet", "widths": [4], "alphas": [1.0]}}
    suite = {"name": "pages", "replicates": 1, "test_size": 100, "learner": [{"name": "kernel-ridge"}]}
    suite["task"] = [task | {"inputs": {"kind": "uniform"}, "d": [4], "n": [10, 20]}]
    run_suite(Suite.parse(suite, "pages"), RunOptions(store=folder / "store", executor="serial"))
    with open_store(folder / "store") as stores:
        stores["pages"].report(folder, figures=())
    write_site(folder, [])
    return {name: (folder / name).read_text() for name in ("report.html", "index.html")}


def with_added(page, text):
    """The page with a text at the end of its body; scripts of ours contain ``</body>`` too."""
    start, end, rest = page.rpartition("</body>")
    return start + text + end + rest


def test_our_pages_are_no_fault(pages):
    assert DATA in pages["report.html"]
    assert {name: runnable(name, page) for name, page in pages.items()} == {"report.html": "", "index.html": ""}


@pytest.mark.parametrize("name", ["report.html", "index.html"])
@pytest.mark.parametrize(
    "added",
    [
        SCRIPT, "<SCRIPT >alert(1)</SCRIPT >", "<script src='data:,alert(1)'></script>", "<script>",
        "<p onclick='x()'>",
        "<a href=' javascript:x()'>", f"<script type='text/javascript'{DATA}>alert(1)</script>",
        f"<script{DATA}>{{}}<!--<script></script>",
    ],
)  # fmt: skip
def test_what_could_run_in_a_page_is_a_fault(pages, name, added):
    assert runnable(name, with_added(pages[name], added))


def test_a_page_allows_only_its_own_scripts(pages):
    assert runnable("index.html", with_added(pages["index.html"], f"<script>{library()}</script>"))
    assert runnable("index.html", pages["report.html"]), "the policy of another page"
    assert runnable("index.html", pages["index.html"].replace("script-src ", "script-src 'unsafe-inline' "))
    assert runnable("other.html", pages["index.html"])


def test_data_without_markup_does_not_run(pages):
    assert runnable("report.html", with_added(pages["report.html"], f"<script{DATA}>{{}}</script>")) == ""


def test_changes_follow_from_the_seed(base, tmp_path):
    def changed(name, seed):
        case = Case(tmp_path / name)
        case.folder.mkdir()
        with closing(sqlite3.connect(base / "results.sqlite")) as source:
            case.store.mkdir()
            with closing(sqlite3.connect(case.store / "results.sqlite")) as copy:
                source.backup(copy)
        MUTATIONS["value in a row"](case.store, Random(seed))
        with closing(sqlite3.connect(case.store / "results.sqlite")) as db:
            return db.execute("SELECT row FROM rows ORDER BY rowid").fetchall()

    assert changed("a", 1) == changed("b", 1) != changed("c", 2)
