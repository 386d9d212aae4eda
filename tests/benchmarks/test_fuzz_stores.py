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
from benchmarks.fuzz_stores import Case, fuzz
from benchmarks.store_mutations import MUTATIONS, SCRIPT, SECRET
from bfc_bench import RunOptions, run_suite
from bfc_bench.errors import StoreError


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
        (refuse, "refused"), (reads, "read"), (fails, "traceback"), (hangs, "hang"), (writes_above, "outside"),
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
