"""Faults on a Ray cluster of two nodes on this machine, which requires a token to connect."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.place import Place, end, group_of, numbers, wait_until
from bfc_bench.errors import StoreError


def _missing() -> str:
    return "" if find_spec("ray") else "Ray is not installed."


FAULTS = Family("ray", lacking=_missing)
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
node = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
print(cluster.address, node.all_processes["raylet"][0].process.pid, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
"""Script that runs the cluster until its standard input is closed."""


@dataclass(frozen=True)
class Nodes:
    """Two nodes of one core each."""

    run: tuple[str, ...]
    """Options of a run on them."""
    raylet: int
    """Process id of the second node."""
    environment: Mapping[str, str]


@contextmanager
def _nodes(place: Place) -> Iterator[Nodes]:
    token = place.new("token")
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    told = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
    told["RAY_worker_niceness"] = "0"  # with the default niceness, workers would starve on a busy machine
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**place.environment, **told},
        cwd=place.folder,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        words: list[str] = []
        while len(words) != 2 or not words[1].isdigit():
            words = process.stdout.readline().split()
        options = ("--executor", "ray", "--executor-option", f"address={words[0]}", "--no-mlflow", "--device", "cpu")
        yield Nodes(options, int(words[1]), told)
        process.communicate(timeout=60)
    finally:
        end(process)


def _slow(place: Place) -> tuple[Path, Path]:
    return place.suite([("slow", "slow", {"seconds": 0.3})], replicates=10), place.new("store")


@FAULTS("a node of two killed with -9 in a run on Ray", "exit 0, 20 rows ok, the numbers of processes")
def _node_killed(place: Place) -> str:
    suite, store = _slow(place)
    here = place.new("store")
    place.bench("run", suite, "--store", here, "--no-mlflow", "--jobs", 1, "--device", "cpu")
    with _nodes(place) as nodes:
        process = place.start("run", suite, "--store", store, *nodes.run, **nodes.environment)
        wait_until(lambda: _count(place, store) > 3, 180)
        os.kill(nodes.raylet, signal.SIGKILL)
        code = process.wait(300)
    rows = place.rows(store)
    same = "the numbers of processes" if numbers(rows) == numbers(place.rows(here)) else "other numbers"
    return f"exit {code}, {sum(row.status == 'ok' for row in rows)} rows ok, {same}"


@FAULTS("learners on Ray that never return, leave and crash", "timeout, exit code 7, SIGSEGV; the other sizes ok")
def _bad_learners(place: Place) -> str:
    ways = ("hang", "exit", "signal")
    suite = place.suite([("faulty", how, {"how": how, "at": 20}) for how in ways], seconds=4)
    store = place.new("store")
    with _nodes(place) as nodes:
        place.bench("run", suite, "--store", store, *nodes.run, **nodes.environment)
    rows = {(row.label, row.n): row for row in place.rows(store)}
    told = {"hang": "timeout", "exit": "exit code 7", "signal": "SIGSEGV"}
    ended = [w if w in f"{(r := rows[how, 20]).status} {r.reason}" else r.reason for how, w in told.items()]
    others = "ok" if all(rows[how, 10].status == "ok" for how in ways) else "not ok"
    return f"{', '.join(ended)}; the other sizes {others}"


@FAULTS("Ctrl-C in a run on Ray", "exit 130; again: exit 0, 20 of 20 rows")
def _interrupted(place: Place) -> str:
    suite, store = _slow(place)
    with _nodes(place) as nodes:
        process = place.start("run", suite, "--store", store, *nodes.run, **nodes.environment)
        wait_until(lambda: _count(place, store) > 1, 180)
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
        again = place.bench("run", suite, "--store", store, *nodes.run, **nodes.environment)
    return f"exit {code}; again: exit {again.returncode}, {len(place.rows(store))} of 20 rows"


@FAULTS("a run that started a Ray cluster of its own killed with -9", "nothing is left")
def _killed(place: Place) -> str:
    pids = place.new("pids")
    suite = place.suite([("deaf", "deaf", {"path": str(pids)})])
    process = place.start("run", suite, "--store", place.new("store"), "--executor", "ray", "--no-mlflow")
    try:
        began = wait_until(
            lambda: len(group_of(process.pid)) > 12, 180
        )  # the cluster, a slot, its worker and their helpers
        process.kill()
        process.wait()
        gone = wait_until(lambda: not group_of(process.pid), 120)  # Ray's agents take a minute to notice
        return ("nothing is left" if gone else f"{len(group_of(process.pid))} left") if began else "no worker began"
    finally:
        end(process)


def _count(place: Place, store: Path) -> int:
    with suppress(StoreError):
        return len(place.rows(store))
    return 0
