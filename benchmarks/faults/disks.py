"""Faults of disks and files: full or read-only disks, files that are not a store, unusual paths."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.place import Place
from bfc_bench.store.store import Store

FAULTS = Family("disks")
ODD = ("a?mode=memory", "a%20b", "a b", "a#b", "ä\u202e", "-x")


@contextmanager
def small(place: Place, kilobytes: int = 600) -> Iterator[Path]:
    """Mount a file system of ``kilobytes`` kB, which needs root."""
    folder = place.new("small")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode:
        raise RuntimeError(f"not tried: no file system can be mounted here ({made.stderr.strip()})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def _fill(folder: Path, spare: int = 8192) -> None:
    disk = os.statvfs(folder)
    (folder / "filler").write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - spare))


@FAULTS("the disk is full in the middle of a run", "exit 1: full; what was committed is readable")
def _full(place: Place) -> str:
    suite = place.suite(replicates=300)
    with small(place) as disk:
        ended = place.bench("run", suite, "--store", disk / "store", "--no-mlflow", "--executor", "serial")
        rows = place.rows(disk / "store")
    said = "full" if "is full" in ended.stderr else ended.stderr
    return f"exit {ended.returncode}: {said}; {'what was committed is readable' if len(rows) > 10 else len(rows)}"


@FAULTS("the disk is full while a report is written", "exit 1: No space left on device; the page is the one before")
def _full_report(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    with small(place, kilobytes=4000) as disk:  # a page has 1 MB of JavaScript
        wanted = ("report", suite, "--store", store, "--output", disk / "out")
        place.bench(*wanted)
        page = disk / "out" / "report.html"
        before = page.read_text()
        _fill(disk)
        ended = place.bench(*wanted)
        same = page.read_text() == before
    said = "No space left on device" if "No space left on device" in ended.stderr else ended.stderr
    return f"exit {ended.returncode}: {said}; the page is {'the one before' if same else 'another'}"


@FAULTS("the store is read-only", "results: exit 0, 4 rows; run: exit 2, one line")
def _read_only(place: Place) -> str:
    suite = place.suite()
    with small(place) as disk:
        place.bench("run", suite, "--store", disk / "store", "--no-mlflow", "--set", "replicates=2")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        listed = place.bench("results", suite, "--store", disk / "store", "--format", "csv")
        ran = place.bench("run", suite, "--store", disk / "store", "--no-mlflow", "--set", "replicates=3")
    rows, said = len(listed.stdout.splitlines()) - 1, "one line" if ran.stderr.count("\n") == 1 else ran.stderr
    return f"results: exit {listed.returncode}, {rows} rows; run: exit {ran.returncode}, {said}"


@FAULTS("a read-only copy of a store that is being written", "all 100 rows")
def _copy(place: Place) -> str:
    suite, store = place.suite(replicates=50), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    rows = place.rows(store)
    with small(place, 2000) as disk:
        with Store(store, write=True) as running:  # the rewritten rows are in SQLite's write-ahead log
            running.put((replace(row, reason="again"), *_digests(store, row.cell), "") for row in rows)
            shutil.copytree(store, disk / "copy", ignore=shutil.ignore_patterns("reports"))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        copied = place.rows(disk / "copy")
    new = sum(row.reason == "again" for row in copied)
    return "all 100 rows" if new == len(copied) == 100 else f"{new} of {len(copied)} rows"


def _digests(store: Path, cell: str) -> tuple[str, str]:
    with closing(sqlite3.connect(store / "results.sqlite")) as db:
        digests: tuple[str, str] = db.execute(
            "SELECT task_digest, learner_digest FROM rows WHERE cell = ?", (cell,)
        ).fetchone()
    return digests


@FAULTS("the store's file is overwritten with noise", "exit 2, one line; the file as it was")
def _corrupted(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    noise = b"no database " * 1000
    (store / "results.sqlite").write_bytes(noise)
    codes = [place.bench(verb, suite, "--store", store) for verb in ("run", "results", "report")]
    code = codes[0].returncode if len({c.returncode for c in codes}) == 1 else [c.returncode for c in codes]
    one = "one line" if all(c.stderr.count("\n") == 1 for c in codes) else codes[0].stderr
    same = (store / "results.sqlite").read_bytes() == noise
    return f"exit {code}, {one}; the file {'as it was' if same else 'changed'}"


@FAULTS("another program's database in its place", "exit 2, one line; the file as it was")
def _foreign(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    store.mkdir()
    with closing(sqlite3.connect(store / "results.sqlite")) as db:
        db.execute("CREATE TABLE mine (x)")
    before = (store / "results.sqlite").read_bytes()
    ended = place.bench("run", suite, "--store", store, "--no-mlflow")
    one = "one line" if ended.stderr.count("\n") == 1 else ended.stderr
    same = (store / "results.sqlite").read_bytes() == before
    return f"exit {ended.returncode}, {one}; the file {'as it was' if same else 'changed'}"


@FAULTS("a store of a newer schema", "exit 2, both numbers said")
def _newer(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    with closing(sqlite3.connect(store / "results.sqlite")) as db:
        db.execute("PRAGMA user_version = 99")
    ended = place.bench("run", suite, "--store", store, "--no-mlflow")
    said = "schema 99; this bfc-bench knows schema 1" in ended.stderr
    return f"exit {ended.returncode}, {'both numbers said' if said else ended.stderr}"


@FAULTS(f"stores called {', '.join(map(ascii, ODD))}", "each a folder of that name with its rows")
def _odd(place: Place) -> str:
    suite, home = place.suite(), place.new("odd")
    home.mkdir()
    for name in ODD:
        place.bench("run", suite, f"--store={home / name}", "--no-mlflow", "--executor", "serial")
    good = {path.name for path in home.iterdir()} == set(ODD) and all(len(place.rows(home / n)) == 2 for n in ODD)
    return "each a folder of that name with its rows" if good else str(sorted(path.name for path in home.iterdir()))


@FAULTS("modes of what a run writes", "folder 700, database 600, lock 600")
def _modes(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    place.bench("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    folder, database, lock = (p.stat().st_mode & 0o777 for p in (store, store / "results.sqlite", store / "lock"))
    return f"folder {folder:o}, database {database:o}, lock {lock:o}"
