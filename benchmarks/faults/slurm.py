"""Faults of tasks on a real SLURM cluster of one node."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.faults import Family
from benchmarks.faults.cluster import cluster, missing
from benchmarks.faults.place import Place, wait_until
from bfc_bench.shards.heartbeat import Heartbeat
from bfc_bench.shards.job import ShardJob, jobs
from bfc_bench.shards.journal import entries
from bfc_bench.shards.states import states

FAULTS = Family("slurm", lacking=missing)
REST = "the next submit: 20 ok, once"
"""Outcome of the rest of a suite of 20 cells."""


@contextmanager
def _slurm(place: Place) -> Iterator[None]:
    """Run a cluster, with SLURM's commands on the path of this process and of the place's processes."""
    before, own = dict(os.environ), dict(place.environment)
    with cluster() as environment:
        variables = {name: environment[name] for name in ("PATH", "SLURM_CONF")}
        os.environ.update(variables)
        place.environment.update(variables)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
            place.environment.clear()
            place.environment.update(own)


def _disturbed(
    place: Place, disturb: Callable[[ShardJob, Heartbeat], object], *options: object, seconds: float = 0.3
) -> str:
    """Disturb a running task; return its state afterwards and the outcome of the suite."""
    suite, store = place.suite([("slow", "slow", {"seconds": seconds})], replicates=10), place.new("store")
    with _slurm(place):
        _submit(place, suite, store, *options)
        (job,) = jobs(store)
        wait_until(lambda: any(entries(job.file("journals", 0))), 120)
        heartbeat = Heartbeat.read(job.file("heartbeats", 0))
        if heartbeat is None:
            return f"the task did not begin: {job.file('logs', 0).read_text()}"
        disturb(job, heartbeat)
        wait_until(lambda: not _open(store), 300)
        (state,) = states([job])
        while "nothing to do" not in _submit(place, suite, store):
            wait_until(lambda: not _open(store), 300)
    rows = place.rows(store)
    good = len(rows) == len({row.cell for row in rows}) == 20 and {row.status for row in rows} == {"ok"}
    return f"{state.where}; {REST if good else f'{len(rows)} rows'}"


def _submit(place: Place, suite: Path, store: Path, *options: object) -> str:
    ended = place.bench("submit", suite, "--shards", 1, "--store", store, *options)
    if ended.returncode:
        raise RuntimeError(ended.stderr)
    return ended.stdout


def _open(store: Path) -> bool:
    return any(state.open for state in states(jobs(store)))


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _task(job: ShardJob) -> str:
    return f"{job.arrays[0].id}_0"


@FAULTS("a task killed with -9", f"lost; {REST}")
def _killed(place: Place) -> str:
    return _disturbed(place, lambda job, heartbeat: os.kill(heartbeat.process, signal.SIGKILL))


@FAULTS("a task cancelled (scancel)", f"stopped; {REST}")
def _cancelled(place: Place) -> str:
    return _disturbed(place, lambda job, heartbeat: _output("scancel", _task(job)))


@FAULTS("a task whose time is over", f"stopped; {REST}")
def _time(place: Place) -> str:
    return _disturbed(place, lambda job, heartbeat: None, "--time", 2, seconds=5)


@FAULTS("a task requeued while it runs", f"done; {REST}")
def _requeued(place: Place) -> str:
    def requeue(job: ShardJob, heartbeat: Heartbeat) -> None:
        _output("scontrol", "requeue", _task(job))
        wait_until(lambda: "PENDING" in _output("squeue", "-h", "-r", "-o", "%T"))
        _output("scontrol", "update", f"JobId={_task(job)}", "StartTime=now")

    return _disturbed(place, requeue)


@FAULTS("the node drained while a task runs", f"done; {REST}")
def _drained(place: Place) -> str:
    def drain(job: ShardJob, heartbeat: Heartbeat) -> None:
        node = _output("sinfo", "-h", "-N", "-o", "%N").split()[0]
        _output("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        wait_until(lambda: not _open(job.folder.parents[1]), 300)
        _output("scontrol", "update", f"NodeName={node}", "State=RESUME")

    return _disturbed(place, drain)
