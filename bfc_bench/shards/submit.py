"""Submits a job: plans the missing cells of a suite as shards, and runs them with SLURM or on this machine."""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version as installed_version
from pathlib import Path

from bfc_bench.errors import UsageError
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.run.cell import make_row
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.plan import Plan
from bfc_bench.run.provenance import provenance
from bfc_bench.run.session import plan_for
from bfc_bench.shards import slurm
from bfc_bench.shards.collect import collect_into
from bfc_bench.shards.job import ShardJob, jobs, new_folder
from bfc_bench.shards.partition import divide
from bfc_bench.shards.shard import MOST_LOSSES, lost_reason
from bfc_bench.shards.states import losses, states
from bfc_bench.store import Redo
from bfc_bench.store.backup import SHARDS
from bfc_bench.store.store import Store
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.files import write_file
from bfc_bench.utils.process_liveness import process_start

SESSION_GB = 1.0
"""Memory of a shard, in GB, beside that of its cells: the session and the libraries of its workers."""


@dataclass(frozen=True)
class ShardRequest:
    """How many shards to make, and the resources of each."""

    shards: int
    """Most shards."""
    workers: int
    """Workers per shard."""
    partition: str = ""
    time: str = ""
    memory_gb: float | None = None
    """Memory of a shard; None takes the limits of its cells."""
    account: str = ""
    more: Sequence[str] = ()
    """Further options for ``sbatch``."""


@dataclass
class Submission:
    """A job that was written, or would be without ``dry``."""

    job: ShardJob | None
    """None if there is nothing to do."""
    plan: Plan
    seconds: list[float]
    """Estimated seconds of each shard."""
    script: str = ""
    lines: list[str] = field(default_factory=list)
    """Messages for the user."""


def prepare(
    grid: Grid, directory: Path, wanted: ShardRequest, *, device: Device, redo: Collection[Redo] = (), dry: bool = False
) -> Submission:
    """Collect new rows, plan the missing cells that no shard has, and write them as a job.

    Cells that were running when their shards ended unexpectedly are planned again, each in a batch of its own. A cell
    that was running ``MOST_LOSSES`` times gets a row with the status ``killed``.

    Args:
        grid: The cells.
        directory: Folder of the store.
        wanted: Number and resources of the shards.
        device: The device of the run.
        redo: Which cells with a row run again.
        dry: Whether to write nothing.

    Raises:
        StoreError: Another process holds the store, or it cannot be read.
    """
    has_store = not dry or (directory / "results.sqlite").exists()
    with Store(directory, write=not dry) if has_store else nullcontext() as store:
        if store is not None and not dry:
            collect_into(store)
        present, id = states(jobs(directory)), secrets.token_hex(6)
        busy = set().union(*(state.missing for state in present if state.open))
        lines = [f"{len(busy)} cells are left out, since shards that wait or run have them."] if busy else []
        free = replace(grid, only=tuple(cell for cell in grid.cells() if cell.id not in busy)) if busy else grid
        plan = plan_for(free, store, device, session=id, redo=redo)
        sessions = {cell.id: store.provenance(cell.id) for cell in (*plan.todo, *plan.to_skip)} if store else {}
        lost = {cell: count for cell, count in losses(present).items() if sessions.get(cell) is None}
        given_up = [cell for cell in plan.todo if lost.get(cell.id, 0) >= MOST_LOSSES]
        if given_up:
            lines.append(f"{len(given_up)} cells are given up: {lost_reason(MOST_LOSSES)}.")
            plan.todo = [cell for cell in plan.todo if lost.get(cell.id, 0) < MOST_LOSSES]
        parts, seconds = divide(plan, wanted.shards, wanted.workers, lost)
        nonempty = bool(plan.todo or plan.to_skip)
        if nonempty and len(parts) < wanted.shards:
            lines.append(f"{len(parts)} shards are enough for the cells to do.")
        job = ShardJob(
            folder=(
                directory / SHARDS / "JOB" if dry or not nonempty else new_folder(directory, grid.suite.name)
            ).resolve(),
            id=id,
            release=installed_version("bfc-bench"),
            where=grid.suite.name,
            suite=grid.suite.definition(),
            device=device,
            workers=wanted.workers,
            shards=len(parts),
            replaces={cell: session for cell, session in sessions.items() if session is not None},
            launcher=(platform.node(), os.getpid(), process_start(os.getpid())),
        )
        if store is not None and not dry and (nonempty or given_up):
            _begin(store, job, plan, [(cell, lost_reason(lost[cell.id])) for cell in given_up])
    if not nonempty:
        return Submission(None, plan, [], lines=lines)
    made_script = slurm.script(job, list(_options(job, plan, wanted)))
    if not dry:
        job.write(parts)
        write_file(job.folder / "script.sh", made_script.encode(), private=True)
    return Submission(job, plan, seconds, made_script, [*lines, *_cautions(plan, wanted, seconds)])


def _begin(store: Store, job: ShardJob, plan: Plan, given_up: Sequence[tuple[Cell, str]]) -> None:
    """Record the job as a session of the suite, with the rows of cells that are given up."""
    grid = plan.grid
    suite, version = grid.suite.name, grid.suite.version
    facts = provenance(job.device, ProcessExecutor(), job.workers) | {"executor": "shards"}
    store.sessions.begin(job.id, suite, version, job.suite, {**facts, "shards": job.shards})
    store.sessions.define(suite, version, grid.task_digests, grid.learner_digests)
    rows = [make_row(plan.single(cell), cell, "killed", reason) for cell, reason in given_up]
    store.put((row, grid.task_digests[row.task], grid.learner_digests[row.label], "") for row in rows)


def _options(job: ShardJob, plan: Plan, wanted: ShardRequest) -> Iterator[str]:
    """Options for ``sbatch`` that depend on the request."""
    if wanted.partition:
        yield f"--partition={wanted.partition}"
    if wanted.account:
        yield f"--account={wanted.account}"
    if wanted.time:
        yield f"--time={wanted.time}"
    yield f"--cpus-per-task={wanted.workers}"
    memory = wanted.memory_gb
    if memory is None:
        memory = wanted.workers * plan.common.memory_bytes / 1e9 + SESSION_GB
    yield f"--mem={-(-int(memory * 1e9) // 2**20)}M"
    if job.device == "cuda" and not any("gres" in option or "gpu" in option for option in wanted.more):
        yield "--gres=gpu:1"
    yield from wanted.more


def _cautions(plan: Plan, wanted: ShardRequest, seconds: Sequence[float]) -> Iterator[str]:
    """Warnings about a time limit that is too short."""
    limit = slurm.seconds(wanted.time) if wanted.time else None
    if limit is None:
        return
    if plan.common.cell_seconds > limit - slurm.SIGNAL_SECONDS:
        yield (
            f"A cell may take {plan.common.cell_seconds:g} s, but with --time {wanted.time} a shard is told to stop "
            f"after {max(0.0, limit - slurm.SIGNAL_SECONDS):g} s: a longer cell may get no row. Use a longer --time."
        )
    if max(seconds) > limit:
        yield (
            f"The longest shard is estimated at {max(seconds):.0f} s, and --time is {limit:.0f} s: run `submit` again "
            "for the cells that remain, or use more shards, which take less time each."
        )


def workers_for(cpus: int, memory_gb: float | None, cell_gb: float) -> int:
    """The number of workers of a shard: one per core, and no more than its memory allows.

    Args:
        cpus: Cores of the shard.
        memory_gb: Memory of the shard in GB; None for no limit.
        cell_gb: Memory limit of a cell in GB.

    Raises:
        UsageError: The memory is too small for one cell.
    """
    if memory_gb is None:
        return cpus
    if memory_gb < cell_gb + SESSION_GB:
        raise UsageError(
            f"--memory must be at least {cell_gb + SESSION_GB:g}G: a cell may take {cell_gb:g} GB, the session "
            f"{SESSION_GB:g} GB. Got {memory_gb:g}G. --set budget.memory_gb=... lets cells take less."
        )
    return max(1, min(cpus, int((memory_gb - SESSION_GB) / cell_gb)))


def send(job: ShardJob) -> list[str]:
    """Submit a job to SLURM. Returns the ids of its arrays. Raises ``SlurmError``; removes a job without any array."""
    try:
        return [array.id for array in slurm.submit(job, job.folder / "script.sh")]
    except slurm.SlurmError:
        if not job.arrays:
            shutil.rmtree(job.folder, ignore_errors=True)
        raise


def run_here(job: ShardJob, tell: Callable[[str], None] = lambda text: None) -> list[int]:
    """Run all shards of a job at once as processes on this machine. Returns their exit codes.

    After an interrupt, the shards are stopped and waited for. ``tell`` gets a message with the folder of the logs.
    """
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(job.shards):
            with job.file("logs", number).open("ab") as log:
                command = [sys.executable, "-m", "bfc_bench", "shard", str(job.folder), str(number)]
                started.append(
                    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
                )
        tell(f"{job.name}: {job.shards} shards run on this machine; their logs are in {job.folder / 'logs'}.")
        return [process.wait() for process in started]
    except BaseException:
        for process in started:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        for process in started:
            process.wait()
        raise
