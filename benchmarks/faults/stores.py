"""Faults of stores that are merged, copied, or on a file system without locks."""

from __future__ import annotations

import platform
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.kills import _count, _slow
from benchmarks.faults.place import QUIET, Place, end, wait_until
from benchmarks.store_mutations import seal
from bfc_bench.errors import StoreError
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store

FAULTS = Family("stores")
TIMES = 10
"""Number of kills of a merge."""
ROOT = Path(__file__).parents[2]
WITHOUT_LOCKS = """
import errno, sys
sys.path.append({root!r})
from benchmarks.faults.locks import forbid_locks
forbid_locks(errno.ENOSYS)
from bfc_bench.cli.app import run
raise SystemExit(run(sys.argv[1:]))
"""


def _halves(place: Place, replicates: int = 5) -> tuple[Path, list[Path]]:
    suite = place.suite([("mean", "mean", {}), ("linear-ridge", "ridge", {})], replicates=replicates)
    stores = [place.new("store"), place.new("store")]
    for store, label in zip(stores, ("mean", "ridge"), strict=True):
        place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial", "--learner", label)
    return suite, stores


def _rows(place: Place, store: Path) -> list[Row]:
    with suppress(StoreError):
        return place.rows(store)
    return []


@FAULTS(
    "two stores with different rows of a cell are merged", "exit 2: both results and machines; the target as it was"
)
def _different(place: Place) -> str:
    suite, (a, b) = _halves(place)
    place.bench("run", suite, "--store", b, "--no-mlflow", "--executor", "serial")
    with closing(sqlite3.connect(b / "results.sqlite")) as db, db:
        db.execute("UPDATE rows SET row = json_set(row, '$.nmse', 123.5) WHERE label = 'mean' AND n = 20")
        seal(db)
    into = place.new("store")
    ended = place.bench("merge", a, b, "--into", into)
    told = all(text in ended.stderr for text in ("nmse 123.5 in", f"({platform.node()}", "n = 20", "--prefer"))
    state = "there" if into.exists() else "as it was"
    return f"exit {ended.returncode}: {'both results and machines' if told else ended.stderr}; the target {state}"


@FAULTS(f"a merge killed with -9 at {TIMES} random moments", "all or nothing each time; then all 20 rows once")
def _killed(place: Place) -> str:
    _, stores = _halves(place)
    rng, wrong = random.Random(time.time_ns()), 0
    for _ in range(TIMES):
        into = place.new("store")
        process = place.start("merge", *stores, "--into", into)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.2, 3.0))
        end(process)
        wrong += len(_rows(place, into)) not in (0, 20)
        again = place.bench("merge", *stores, "--into", into)
        wrong += again.returncode != 0 or len(_rows(place, into)) != 20
    return f"{wrong} in part" if wrong else "all or nothing each time; then all 20 rows once"


@FAULTS(
    "a store copied while a run writes it", "exit 0; committed rows are there, as they are; the run goes on: exit 0"
)
def _copied(place: Place) -> str:
    suite, store = _slow(place)
    process = place.start("run", suite, "--store", store, "--jobs", 1, "--no-mlflow")
    try:
        wait_until(lambda: _count(place, store) > 3)
        before, copy = place.rows(store), place.new("copy")
        ended = place.bench("backup", store, copy)
        code = process.wait(120)
    finally:
        end(process)
    there = {row.cell: row for row in _rows(place, copy)}
    good = all(there.get(row.cell) == row for row in before)
    rows = "committed rows are there, as they are" if good else f"{len(there)} rows"
    return f"exit {ended.returncode}; {rows}; the run goes on: exit {code}"


@FAULTS(
    "a run killed with -9 where nothing can be locked (the kernel answers ENOSYS)",
    "another one meanwhile: exit 2, named; again: exit 0, 20 of 20 rows",
)
def _no_locks(place: Place) -> str:
    suite, store = _slow(place, 0.6)
    script = place.new("without-locks").with_suffix(".py")
    script.write_text(WITHOUT_LOCKS.format(root=str(ROOT)))
    arguments = ("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    command = [sys.executable, *map(str, (script, *arguments))]
    process = subprocess.Popen(command, **QUIET, env=place.environment)
    try:
        wait_until(lambda: _count_whole(store) > 1)
        second = place.python(script, *arguments)
    finally:
        process.kill()
        process.wait()
    named = f"(process {process.pid} on {platform.node()}" in second.stderr
    again = place.python(script, *arguments)
    said = f"exit {second.returncode}, {'named' if named else second.stderr}"
    return f"another one meanwhile: {said}; again: exit {again.returncode}, {_count(place, store)} of 20 rows"


def _count_whole(store: Path) -> int:
    """Number of rows of a store without locks, counted in a copy, because opening it could disturb the run."""
    with suppress(StoreError, OSError, sqlite3.Error):
        copy = store.with_name(f"{store.name}-looked-at")
        copy.mkdir(exist_ok=True)
        (copy / "results.sqlite").write_bytes((store / "results.sqlite").read_bytes())
        with Store(copy) as held:
            return len(held.rows("tiny", 1))
    return 0


@FAULTS(
    "a file of another run copied beside the log that a killed run left",
    "exit 2: it belongs to another; restore: exit 0, the 10 rows of the copy",
)
def _foreign_log(place: Place) -> str:
    suite, (store, _) = _halves(place)
    copy, killed = place.new("copy"), place.new("store")
    place.bench("backup", store, copy)
    process = place.start("run", suite, "--store", killed, "--jobs", 1, "--no-mlflow", "--learner", "ridge")
    try:
        wait_until(lambda: _count(place, killed) > 1)
        process.kill()
        process.wait()
    finally:
        end(process)
    shutil.copy(copy / "results.sqlite", killed / "results.sqlite")
    read = place.bench("results", suite, "--store", killed)
    said = "it belongs to another" if "belongs to another" in read.stderr else read.stderr
    restored = place.bench("restore", copy, "--store", killed, "--force")
    same = {row.cell for row in _rows(place, killed)} == {row.cell for row in _rows(place, store)}
    rows = "the 10 rows of the copy" if same else f"{_count(place, killed)} rows"
    return f"exit {read.returncode}: {said}; restore: exit {restored.returncode}, {rows}"


@FAULTS("the folder of a store moved away in a run", "exit 1: saved beside it; merge: exit 0, no row twice")
def _moved(place: Place) -> str:
    suite, store = _slow(place)
    process = place.start("run", suite, "--store", store, "--jobs", 1, "--no-mlflow")
    try:
        wait_until(lambda: _count(place, store) > 1)
        store.rename(moved := place.new("moved"))
        code = process.wait(120)
    finally:
        end(process)
    saved = list(store.parent.glob(f"{store.name}.rescued-*"))
    if not saved:
        return f"exit {code}: nothing is saved"
    into = place.new("store")
    merged = place.bench("merge", moved, *saved, "--into", into)
    once = _count(place, into) == _count(place, moved) + _count(place, saved[0])
    return f"exit {code}: saved beside it; merge: exit {merged.returncode}, {'no row twice' if once else 'other rows'}"
