"""Unusual contents of a store: rows of other releases, unknown statuses and columns, control characters, odd clocks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.faults import Family
from benchmarks.faults.place import Place
from benchmarks.store_mutations import seal

FAULTS = Family("records")
IN_THE_PAST = """
import sys, time
real = time.time
time.time = lambda: real() - 1e6
from bfc_bench.cli.app import run
run(sys.argv[1:])
"""


def _stored(place: Place, replicates: int = 2) -> tuple[Path, Path]:
    suite, store = place.suite(replicates=replicates), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    return suite, store


def _rewrite(store: Path, change: Callable[[dict[str, Any]], object], columns: str = "") -> None:
    """Change the first row of a store with SQL, as another release would have written it."""
    with closing(sqlite3.connect(store / "results.sqlite")) as db:
        cell, text = db.execute("SELECT cell, row FROM rows ORDER BY rowid LIMIT 1").fetchone()
        row = json.loads(text)
        change(row)
        db.execute("UPDATE rows SET row = ? WHERE cell = ?", (json.dumps(row), cell))
        if columns:
            db.execute(f"UPDATE rows SET {columns}")
        seal(db)
        db.commit()


def _readers(place: Place, suite: Path, store: Path) -> str:
    """Exit codes of the verbs that read a store, and the number of rows they show."""
    verbs = [("results", "--format", "csv"), ("report", "--output", place.new("out")), ("plan",), ("claims",)]
    ended = [place.bench(verb, suite, "--store", store, *options) for verb, *options in verbs]
    codes = [one.returncode for one in ended]
    shown = len(ended[0].stdout.splitlines()) - 1
    return f"readers exit {codes[0] if len(set(codes)) == 1 else codes}, {shown} rows"


@FAULTS("a stored status that this release does not know", "readers exit 0, 3 rows")
def _status(place: Place) -> str:
    suite, store = _stored(place)
    _rewrite(store, lambda row: row.update(status="exploded", reason=None))
    return _readers(place, suite, store)


@FAULTS("a stored row with a column that this release does not know", "readers exit 0, 4 rows")
def _column(place: Place) -> str:
    suite, store = _stored(place)
    _rewrite(store, lambda row: row.update(colour="blue"))
    return _readers(place, suite, store)


@FAULTS("ESC and RLO in a reason that is stored", "the terminal gets neither")
def _escape(place: Place) -> str:
    suite, store = _stored(place)
    _rewrite(store, lambda row: row.update(status="failed", reason="\x1b[31mred\u202e", nmse=None), "status = 'failed'")
    said = "".join(place.bench(verb, suite, "--store", store).stdout for verb in ("results", "plan", "run"))
    return "the terminal gets both" if "\x1b[31m" in said or "\u202e" in said else "the terminal gets neither"


@FAULTS("the clock set back between two runs", "the definition of the later run is shown")
def _clock(place: Place) -> str:
    suite, store = _stored(place)
    changed = ("--set", "learner.mean.options.shift=1.0")
    place.python("-c", IN_THE_PAST, "run", suite, "--store", store, "--no-mlflow", "--executor", "serial", *changed)
    shifts = {row.options["shift"] for row in place.rows(store)}
    return f"the definition of the {'later run' if shifts == {1.0} else 'former run, or both,'} is shown"


@FAULTS("a resume after an upgrade", "plan names the other release; --redo stale makes 4 cells again")
def _upgrade(place: Place) -> str:
    suite, store = _stored(place)
    _rewrite(store, lambda row: row.update(release="0.0.9"), "\"release\" = '0.0.9'")
    named = "0.0.9" in place.bench("plan", suite, "--store", store).stdout
    place.bench("run", suite, "--store", store, "--no-mlflow", "--redo", "stale")
    again = sum(row.release != "0.0.9" for row in place.rows(store))
    return f"plan {'names' if named else 'hides'} the other release; --redo stale makes {again} cells again"


@FAULTS("inf and NaN in a budget", "exit 2, one line; exit 2, one line")
def _budget(place: Place) -> str:
    said = []
    for value in ("inf", "nan"):
        ended = place.bench("run", place.suite(), "--store", place.new("s"), "--set", f"budget.cell_seconds={value}")
        said.append(f"exit {ended.returncode}, {'one line' if ended.stderr.count(chr(10)) == 1 else ended.stderr}")
    return "; ".join(said)
