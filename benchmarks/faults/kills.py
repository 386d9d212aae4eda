"""Faults by signals and kills of the session and its workers, also at random moments."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.place import Place, end, group_of, numbers, wait_until
from bfc_bench.errors import StoreError
from bfc_bench.executors.memory import children
from bfc_bench.store.row import Row

FAULTS = Family("kills")
TIMES = 20
"""Number of kills at random moments; the slow tests make 200."""
RUNNING = "a process that is still running"
NOTHING = "nothing lost, nothing doubled, nothing changed; the numbers of an undisturbed run"
WITNESS = """
import os
from bfc_bench import hookimpl

@hookimpl
def bfc_result(result):
    file = os.open(os.environ["BFC_WITNESS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{result.cell}\\n".encode())
    os.close(file)
"""
"""A plugin that writes down every cell reported as committed."""
KILLED_BEFORE_THE_REPORT = """
import os, signal, sys
from bfc_bench.cli.app import run
from bfc_bench.stored_suite import StoredSuite
StoredSuite.report = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
run(sys.argv[1:])
"""


def killed_at_random(place: Place, times: int, seed: int, *, mlflow: bool = False) -> str:
    """Kill a run at random moments, continue it after each kill, and return what happened to its rows.

    Whenever the run completes, another one starts in a new store.

    Args:
        place: the folder.
        times: number of kills.
        seed: seed of the moments.
        mlflow: whether the run logs to MLflow.
    """
    suite = place.suite([("slow", "slow", {"seconds": 0.05}), ("linear-ridge", "ridge", {})], replicates=20)
    _install_witness(place)
    undisturbed = place.new("store")
    place.bench("run", suite, "--store", undisturbed, "--no-mlflow", "--executor", "serial", BFC_WITNESS=os.devnull)
    expected, rng = numbers(place.rows(undisturbed)), random.Random(seed)
    count, wrong, longest = 0, list[str](), 9.0 if mlflow else 5.0
    while count < times:
        store, journal, known = place.new("store"), place.new("journal"), dict[str, Row]()
        arguments = ("run", suite, "--store", store, "--jobs", 2, *([] if mlflow else ["--no-mlflow"]))
        while count < times:
            process = place.start(*arguments, BFC_WITNESS=str(journal))
            try:
                process.wait(rng.uniform(0.2, longest))
                break  # it ended before the moment of its kill
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                count += 1
            wrong += _differences(place, store, journal, known)
        ended = place.bench(*arguments, BFC_WITNESS=str(journal))
        wrong += _differences(place, store, journal, known)
        if ended.returncode or numbers(place.rows(store)) != expected:
            wrong.append(f"exit {ended.returncode}, or other numbers")
        if mlflow:
            wrong += _doubled_curves(place, suite, store)
    return "; ".join(wrong) or NOTHING


def _install_witness(place: Place) -> None:
    info = place.folder / "site" / "witness-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (place.folder / "site" / "bfc_witness.py").write_text(WITNESS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: witness\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bfc_bench]\nwitness = bfc_witness\n")


def _differences(place: Place, store: Path, journal: Path, known: dict[str, Row]) -> list[str]:
    """Rows lost, doubled or changed since ``known``, or reported as committed but missing; updates ``known``."""
    try:
        rows = place.rows(store)
    except StoreError:  # killed before there was a store
        rows = []
    by_cell, wrong = {row.cell: row for row in rows}, []
    reported = set(journal.read_text().split()) if journal.exists() else set()
    if lost := (reported | known.keys()) - by_cell.keys():
        wrong.append(f"{len(lost)} rows lost")
    if doubled := len(rows) - len(by_cell):
        wrong.append(f"{doubled} rows doubled")
    if changed := sum(by_cell[cell] != row for cell, row in known.items() if cell in by_cell):
        wrong.append(f"{changed} rows changed")
    known.update(by_cell)
    return wrong


def _doubled_curves(place: Place, suite: Path, store: Path) -> list[str]:
    """What is wrong in MLflow after ``sync``, which must show one run per curve with one value per point."""
    synced = place.bench("sync", suite, "--store", store)
    shown = place.in_mlflow(f"sqlite:///{store / 'mlflow.db'}")
    good = synced.returncode == 0 and shown == ["40", "80"]
    return [] if good else [f"sync: exit {synced.returncode}, {shown} runs and values in MLflow where 40 and 80 belong"]


@FAULTS(f"the session killed with -9 at {TIMES} random moments", NOTHING)
def _random(place: Place) -> str:
    return killed_at_random(place, TIMES, seed=time.time_ns())


@FAULTS(f"the same, {TIMES // 4} times, with MLflow; then sync", NOTHING)
def _random_with_mlflow(place: Place) -> str:
    return killed_at_random(place, TIMES // 4, seed=time.time_ns(), mlflow=True)


def _slow(place: Place, seconds: float = 0.2, replicates: int = 10) -> tuple[Path, Path]:
    suite = place.suite([("slow", "slow", {"seconds": seconds})], replicates=replicates)
    return suite, place.new("store")


def _count(place: Place, store: Path) -> int:
    with suppress(StoreError):
        return len(place.rows(store))
    return 0


def _signalled(place: Place, number: signal.Signals) -> str:
    suite, store = _slow(place)
    process = place.start("run", suite, "--store", store, "--jobs", 1, "--no-mlflow")
    try:
        wait_until(lambda: _count(place, store) > 1)
        process.send_signal(number)
        code = process.wait(60)
        left = not wait_until(lambda: not group_of(process.pid), 10)
    finally:
        end(process)
    again = place.bench("run", suite, "--store", store, "--no-mlflow")
    said = f"exit {code}{', processes left' if left else ''}"
    return f"{said}; again: exit {again.returncode}, {_count(place, store)} of 20 rows"


@FAULTS("Ctrl-C (SIGINT) in a run", "exit 130; again: exit 0, 20 of 20 rows")
def _sigint(place: Place) -> str:
    return _signalled(place, signal.SIGINT)


@FAULTS("SIGTERM in a run", "exit 130; again: exit 0, 20 of 20 rows")
def _sigterm(place: Place) -> str:
    return _signalled(place, signal.SIGTERM)


@FAULTS("SIGHUP in a run: its terminal is gone", f"exit {-signal.SIGHUP}; again: exit 0, 20 of 20 rows")
def _sighup(place: Place) -> str:
    return _signalled(place, signal.SIGHUP)


@FAULTS("a session stopped for 6 s (SIGSTOP), limit of a cell 3 s", "exit 0, 20 rows ok")
def _stopped(place: Place) -> str:
    suite, store = place.suite([("slow", "slow", {"seconds": 0.2})], replicates=10, seconds=3), place.new("store")
    process = place.start("run", suite, "--store", store, "--jobs", 2, "--no-mlflow")
    try:
        wait_until(lambda: _count(place, store) > 1)
        process.send_signal(signal.SIGSTOP)
        time.sleep(6)
        process.send_signal(signal.SIGCONT)
        code = process.wait(120)
    finally:
        end(process)
    return f"exit {code}, {sum(row.status == 'ok' for row in place.rows(store))} rows ok"


def _left(place: Place, learner: str, options: dict[str, object]) -> str:
    """Kill the session while a learner is running, and return which processes are left."""
    suite = place.suite([(learner, "l", options)])
    process = place.start("run", suite, "--store", place.new("store"), "--jobs", 2, "--no-mlflow")
    try:
        began = wait_until(lambda: len(group_of(process.pid)) >= 3)  # the session, what forks, and a worker
        time.sleep(2)
        process.kill()
        process.wait()
        gone = wait_until(lambda: not group_of(process.pid), 10)
        return ("nothing is left" if gone else f"{len(group_of(process.pid))} left") if began else "no worker began"
    finally:
        end(process)


@FAULTS("the session killed while its workers sleep", "nothing is left")
def _sleeping(place: Place) -> str:
    return _left(place, "slow", {"seconds": 90})


@FAULTS("the session killed while a learner waits in C and lets no thread run", "nothing is left")
def _deaf(place: Place) -> str:
    return _left(place, "deaf", {"path": str(place.new("pids"))})


def _mortal(place: Place, times: int, number: signal.Signals) -> str:
    folder, store = place.new("fits"), place.new("store")
    folder.mkdir()
    suite = place.suite([("mortal", "m", {"path": str(folder), "times": times, "signal": int(number)})])
    run = ("run", suite, "--store", store, "--jobs", 1, "--no-mlflow")
    first = place.bench(*run).returncode
    statuses = [row.status for row in place.rows(store)]
    again = place.bench(*run, "--redo", "killed").returncode if first else ""
    return f"exit {first}, {' and '.join(statuses)}{f'; --redo killed: exit {again}' if first else ''}"


@FAULTS("a worker killed from outside (SIGKILL), in its batch and once more", "exit 0, ok and ok")
def _killed_twice(place: Place) -> str:
    return _mortal(place, 2, signal.SIGKILL)


@FAULTS("the same a third time", "exit 1, ok and killed; --redo killed: exit 0")
def _killed_thrice(place: Place) -> str:
    return _mortal(place, 3, signal.SIGKILL)


@FAULTS("the process that forks workers killed (SIGKILL) in a run", "exit 0, 20 rows ok")
def _forks(place: Place) -> str:
    suite, store = _slow(place)
    process = place.start("run", suite, "--store", store, "--jobs", 2, "--no-mlflow")
    try:
        wait_until(lambda: _count(place, store) > 1)
        (forks,) = [child for child in children(process.pid) if list(children(child))]
        os.kill(forks, signal.SIGKILL)
        code = process.wait(120)
    finally:
        end(process)
    return f"exit {code}, {sum(row.status == 'ok' for row in place.rows(store))} rows ok"


@FAULTS("a learner leaves a daemon outside its parent, session and group", f"failed: {RUNNING}; ended")
def _daemon(place: Place) -> str:
    file, store = place.new("daemon"), place.new("store")
    suite = place.suite([("lingering", "l", {"what": "daemon", "path": str(file)})])
    place.bench("run", suite, "--store", store, "--jobs", 1, "--no-mlflow")
    row, daemon = place.rows(store)[0], Path(f"/proc/{file.read_text()}/stat")
    said = RUNNING if RUNNING in row.reason else row.reason
    return f"{row.status}: {said}; {'ended' if wait_until(lambda: not daemon.exists(), 10) else 'still there'}"


@FAULTS("a run killed between its last commit and its report", "nothing to do, and a report of all rows")
def _before_report(place: Place) -> str:
    suite, store = place.suite(), place.new("store")
    arguments = ("run", suite, "--store", store, "--no-mlflow", "--executor", "serial")
    killed = place.python("-c", KILLED_BEFORE_THE_REPORT, *arguments)
    page = store / "reports" / "tiny@1" / "report.html"
    if killed.returncode != -signal.SIGKILL or page.exists():
        return "it was not killed there"
    again = place.bench(*arguments)
    done = "nothing to do" if "nothing to do" in again.stdout else "something to do"
    return f"{done}, and {'a report of all rows' if page.exists() else 'no report'}"


@FAULTS("two runs on one store", "exit 2: in use by another bfc-bench; the first goes on")
def _two(place: Place) -> str:
    suite, store = _slow(place)
    first = place.start("run", suite, "--store", store, "--jobs", 1, "--no-mlflow")
    try:
        wait_until(lambda: _count(place, store))
        second = place.bench("run", suite, "--store", store, "--no-mlflow")
        code = first.wait(120)
    finally:
        end(first)
    said = "in use by another bfc-bench" if "in use by another bfc-bench" in second.stderr else second.stderr
    went_on = (code, _count(place, store)) == (0, 20)
    return f"exit {second.returncode}: {said}; the first {'goes on' if went_on else f'ended with {code}'}"


@FAULTS("four runs that start at once on a new store", "one runs; the others exit 2; all rows once")
def _first_starts(place: Place) -> str:
    suite, store = _slow(place)
    started = [place.start("run", suite, "--store", store, "--jobs", 1, "--no-mlflow") for _ in range(4)]
    try:
        codes = sorted(process.wait(120) for process in started)
    finally:
        for process in started:
            end(process)
    rows = _count(place, store)
    good = codes == [0, 2, 2, 2] and rows == 20
    return "one runs; the others exit 2; all rows once" if good else f"exit codes {codes}, {rows} rows"
