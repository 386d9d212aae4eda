"""Faults of shards: kills, crashes of their machines, requests to stop, and damaged journals."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.kills import NOTHING
from benchmarks.faults.place import Place, end, numbers, wait_until
from bfc_bench.shards.job import ShardJob, jobs
from bfc_bench.shards.journal import entries
from bfc_bench.shards.states import states

FAULTS = Family("shards")
TIMES = 10
"""Number of kills at random moments."""
PREPARE = """
import sys
from pathlib import Path
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.shards.submit import ShardRequest, prepare
from bfc_bench.suite.model import read_suite
grid = resolve(read_suite(Path(sys.argv[1]), ()), load_plugins(), "suite")
print(bool(prepare(grid, Path(sys.argv[2]), ShardRequest(int(sys.argv[3]), 1), device="cpu").job))
"""
"""Script that prepares a job as ``submit`` does, without starting its shards."""


def _submit(place: Place, suite: Path, store: Path, shards: int = 1) -> ShardJob | None:
    """The job with the remaining cells, or None if none remain."""
    ended = place.python("-c", PREPARE, suite, store, shards)
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    return jobs(store)[-1] if ended.stdout.strip() == "True" else None


def _start(place: Place, job: ShardJob, number: int = 0) -> subprocess.Popen[bytes]:
    return place.start("shard", job.folder, number)


def _rows(job: ShardJob, number: int = 0) -> int:
    return sum(1 for _ in entries(job.file("journals", number)))


def _finish(place: Place, suite: Path, store: Path) -> str:
    """Run the remaining cells, with as many jobs as needed, and return the statuses of all cells."""
    while job := _submit(place, suite, store):
        place.bench("shard", job.folder, 0)
    rows = place.rows(store)
    counts = Counter(row.status for row in rows)
    once = "once" if len(rows) == len({row.cell for row in rows}) else "doubled"
    return f"{', '.join(f'{count} {status}' for status, count in sorted(counts.items(), reverse=True))}, {once}"


@FAULTS("a shard killed with -9", "lost; the next submit makes the rest: 20 ok, once")
def _killed(place: Place) -> str:
    return _ended(place, signal.SIGKILL)


@FAULTS(
    "a shard told to stop before its time is over (SIGUSR1)", "stopped; the next submit makes the rest: 20 ok, once"
)
def _stopped(place: Place) -> str:
    return _ended(place, signal.SIGUSR1)


@FAULTS("a shard cancelled (SIGTERM)", "stopped; the next submit makes the rest: 20 ok, once")
def _cancelled(place: Place) -> str:
    return _ended(place, signal.SIGTERM)


def _ended(place: Place, number: signal.Signals) -> str:
    suite, store = place.suite([("slow", "slow", {"seconds": 0.2})], replicates=10), place.new("store")
    job = _submit(place, suite, store)
    assert job is not None
    process = _start(place, job)
    try:
        wait_until(lambda: _rows(job) > 1)
        process.send_signal(number)
        process.wait(120)
    finally:
        end(process)
    (state,) = states([job])
    return f"{state.where}; the next submit makes the rest: {_finish(place, suite, store)}"


@FAULTS("a machine that dies with each shard that runs a certain cell", "after 2 deaths: 3 ok, 1 killed, once")
def _deadly(place: Place) -> str:
    deaths = place.new("deaths")
    learners = [("mean", "mean", {}), ("deadly", "deadly", {"path": str(deaths), "times": 99})]
    suite, store = place.suite(learners), place.new("store")
    ended = _finish(place, suite, store)
    return f"after {len(deaths.read_text())} deaths: {ended}"


@FAULTS(f"shards killed with -9 at {TIMES} random moments, resubmitted each time; then --redo killed", NOTHING)
def _random(place: Place) -> str:
    suite = place.suite([("slow", "slow", {"seconds": 0.05}), ("linear-ridge", "ridge", {})], replicates=15)
    whole = place.new("store")
    place.bench("run", suite, "--store", whole, "--jobs", 1, "--no-mlflow")
    store, rng, known, wrong = place.new("store"), random.Random(time.time_ns()), dict[str, object](), list[str]()
    for _ in range(TIMES):
        job = _submit(place, suite, store)
        if job is None:
            break
        process = _start(place, job)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(2.0, 8.0))
        end(process)
        made = {row.cell: row for row, *_ in entries(job.file("journals", 0))}
        place.bench("collect", "--store", store)
        rows = {row.cell: row for row in place.rows(store)}
        if lost := (made.keys() | known.keys()) - rows.keys():
            wrong.append(f"{len(lost)} rows lost")
        if changed := sum(rows[cell] != row for cell, row in known.items() if cell in rows):
            wrong.append(f"{changed} rows changed")
        known.update(rows)
    _finish(place, suite, store)
    # A cell that was running when two shards died is given up, because it might have killed them.
    place.bench("run", suite, "--store", store, "--no-mlflow", "--jobs", 1, "--redo", "killed")
    if numbers(place.rows(store)) != numbers(place.rows(whole)):
        wrong.append("other numbers")
    return "; ".join(wrong) or NOTHING


@FAULTS("a journal whose last line was not ended, and one of zeros", "2 cells made again; 20 ok, once")
def _torn(place: Place) -> str:
    suite, store = place.suite(replicates=10), place.new("store")
    job = _submit(place, suite, store)
    assert job is not None
    place.bench("shard", job.folder, 0)
    file = job.file("journals", 0)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:5], b"\0" * 300 + b"\n", *lines[6:-1], lines[-1][:50]]))
    again = _submit(place, suite, store)
    return f"{len(again.part(0).cells) if again else 0} cells made again; {_finish(place, suite, store)}"


@FAULTS("a learner of another version where the shard runs", "exit 2, one line; failed, and planned again")
def _another(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    job = _submit(place, suite, store)
    assert job is not None
    part = job.file("parts", 0)
    cell = job.part(0).cells[0].id
    part.write_text(part.read_text().replace(cell, "0" * len(cell)))
    ended = place.bench("shard", job.folder, 0)
    (state,) = states([job])
    one = "one line" if ended.stderr.count("\n") == 1 else ended.stderr
    again = "planned again" if _submit(place, suite, store) else "not planned again"
    return f"exit {ended.returncode}, {one}; {state.where}, and {again}"
