"""Says why a shard waits, or why it ended without reporting it: from SLURM's reason, and from the end of its log."""

from __future__ import annotations

import os
from pathlib import Path

from bfc_bench.shards.heartbeat import Heartbeat
from bfc_bench.shards.job import ShardJob
from bfc_bench.shards.slurm import SlurmTask
from bfc_bench.utils.escape_control import visible
from bfc_bench.utils.masking import masked

WAITS = {
    "Resources": "other jobs have the machines",
    "Priority": "other jobs come first",
    "Dependency": "it waits for another job",
    "PartitionDown": "the partition is down",
    "PartitionInactive": "the partition is inactive",
    "PartitionNodeLimit": "it asks for more than the partition has",
    "PartitionTimeLimit": "its --time is longer than the partition allows",
    "ReqNodeNotAvail": "the machines that it may use are down, drained or reserved",
    "Nodes required for job are DOWN": "the machines that it may use are down, drained or reserved",
    "InvalidAccount": "the account is unknown: give another --account",
    "InvalidQOS": "the QOS is unknown",
    "AssocMaxJobsLimit": "the account may not run more jobs at once",
    "QOSMaxJobsPerUserLimit": "the QOS lets a user run no more jobs at once",
    "JobHeldUser": "you hold it: scontrol release",
    "JobHeldAdmin": "the administrator holds it",
    "JobArrayTaskLimit": "its array may run no more tasks at once",
    "BadConstraints": "no machine has what it asks for",
    "BeginTime": "it starts at a later time",
}
"""What SLURM's reasons mean, by their beginning. ``_waits`` knows the many limits of accounts and QOS."""
ENDS = {
    "TIMEOUT": "it ran into SLURM's time limit",
    "DEADLINE": "it ran into its deadline",
    "OUT_OF_MEMORY": "it was killed for its memory: give more --memory, or fewer --workers",
    "NODE_FAIL": "its machine failed",
    "BOOT_FAIL": "its machine did not start",
    "PREEMPTED": "another job took its place",
}
LOGGED = {
    "memory limit": "OUT_OF_MEMORY",
    "oom_kill": "OUT_OF_MEMORY",
    "oom-kill": "OUT_OF_MEMORY",
    "DUE TO TIME LIMIT": "TIMEOUT",
    "DUE TO NODE FAILURE": "NODE_FAIL",
    "DUE TO PREEMPTION": "PREEMPTED",
}
"""States of tasks that SLURM kills, by the words that it writes to their logs. SLURM forgets tasks, and without cgroups
it calls a task that took too much memory FAILED."""
LOG_BYTES = 4000


def why(job: ShardJob, number: int, where: str, task: SlurmTask | None, heartbeat: Heartbeat | None) -> str:
    """Why a shard waits, failed or is lost, in one line; empty for others and if nothing is known.

    Args:
        job: Its job.
        number: Its number.
        where: Its state.
        task: What SLURM says of it; None if SLURM does not know it.
        heartbeat: Its last heartbeat; None if it has never started.
    """
    if where == "waiting":
        return "" if task is None else _waits(task.reason)
    if where == "failed":
        return "" if heartbeat is None else heartbeat.why
    return _lost(job, number, task, heartbeat) if where == "lost" else ""


def _waits(reason: str) -> str:
    bare = reason.strip("()")
    if bare in ("", "None"):
        return ""
    words = next((text for start, text in WAITS.items() if bare.startswith(start)), "")
    if not words and bare.startswith(("Assoc", "QOS", "MaxJob", "MaxCpu", "MaxMem")):
        words = "a limit of the account or the QOS"
    return f"{words} ({visible(bare)})" if words else f"SLURM says {visible(bare)}"


def _lost(job: ShardJob, number: int, task: SlurmTask | None, heartbeat: Heartbeat | None) -> str:
    state = "" if task is None else task.state
    log = job.log(number)
    if state == "CANCELLED":
        return f"it was cancelled {'before it started' if heartbeat is None else 'while it ran'}"
    lines = _tail(log)
    logged = (end for line in reversed(lines) if "slurmstepd" in line for words, end in LOGGED.items() if words in line)
    reason = ENDS.get(state) or ENDS.get(next(logged, ""), "")
    if heartbeat is not None:
        return reason or f"it ended without reporting it on {heartbeat.host}"
    if lines:
        return "; ".join(filter(None, [reason, f"it did not start: {_shown(lines[-1])}"]))
    return reason or "it ended before it started and has no log: it was cancelled, or its machine could not start it"


def _tail(log: Path) -> list[str]:
    """The last lines of a log that are not empty; none if it cannot be read."""
    try:
        with os.fdopen(os.open(log, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
            lines = file.read(LOG_BYTES).decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines if line.strip()]


def _shown(line: str) -> str:
    """A line without control characters and credentials."""
    return masked(visible(line, 300))
