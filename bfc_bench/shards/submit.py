"""Plans what is missing of a suite as a job of shards, and has SLURM, or this machine, run them."""

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
"""Memory of a shard beside that of its cells: the session, and what each worker's libraries hold."""


@dataclass(frozen=True)
class ShardRequest:
    """What a shard is given."""

    shards: int
    workers: int
    partition: str = ""
    time: str = ""
    memory_gb: float | None = None
    """None: what the cells may take."""
    account: str = ""
    more: Sequence[str] = ()
    """Further options of ``sbatch``."""


@dataclass
class Submission:
    """A job that is written down, or would be."""

    job: ShardJob | None
    """None where there is nothing to do."""
    plan: Plan
    seconds: list[float]
    """Estimated, of each shard."""
    script: str = ""
    lines: list[str] = field(default_factory=list)
    """What the user should know."""


def prepare(
    grid: Grid, directory: Path, wanted: ShardRequest, *, device: Device, redo: Collection[Redo] = (), dry: bool = False
) -> Submission:
    """Collect what shards have made, plan what is missing and nobody is at, and write it down as a job.

    Cells that were running when their shards ended without a word are planned again, each by itself; those that were
    ``MOST_LOSSES`` times get a row that says so. With ``dry`` nothing is written. Raises ``StoreError``.
    """
    there = not dry or (directory / "results.sqlite").exists()
    with Store(directory, write=not dry) if there else nullcontext() as store:
        if store is not None and not dry:
            collect_into(store)
        known, id = states(jobs(directory)), secrets.token_hex(6)
        busy = set().union(*(state.missing for state in known if state.open))
        lines = [f"{len(busy)} cells are left out: shards that wait or run have them."] if busy else []
        free = replace(grid, only=tuple(cell for cell in grid.cells() if cell.id not in busy)) if busy else grid
        plan = plan_for(free, store, device, session=id, redo=redo)
        made = {cell.id: store.provenance(cell.id) for cell in (*plan.todo, *plan.to_skip)} if store else {}
        lost = {cell: count for cell, count in losses(known).items() if made.get(cell) is None}
        gone = [cell for cell in plan.todo if lost.get(cell.id, 0) >= MOST_LOSSES]
        if gone:
            lines.append(f"{len(gone)} cells are given up: {lost_reason(MOST_LOSSES)}.")
            plan.todo = [cell for cell in plan.todo if lost.get(cell.id, 0) < MOST_LOSSES]
        parts, seconds = divide(plan, wanted.shards, wanted.workers, lost)
        something = bool(plan.todo or plan.to_skip)
        if something and len(parts) < wanted.shards:
            lines.append(f"{len(parts)} shards are enough for what is to do.")
        job = ShardJob(
            folder=(
                directory / SHARDS / "JOB" if dry or not something else new_folder(directory, grid.suite.name)
            ).resolve(),
            id=id,
            release=installed_version("bfc-bench"),
            where=grid.suite.name,
            suite=grid.suite.definition(),
            device=device,
            workers=wanted.workers,
            shards=len(parts),
            replaces={cell: session for cell, session in made.items() if session is not None},
            launcher=(platform.node(), os.getpid(), process_start(os.getpid())),
        )
        if store is not None and not dry and (something or gone):
            _begin(store, job, plan, [(cell, lost_reason(lost[cell.id])) for cell in gone])
    if not something:
        return Submission(None, plan, [], lines=lines)
    made_script = slurm.script(job, list(_options(job, plan, wanted)))
    if not dry:
        job.write(parts)
        write_file(job.folder / "script.sh", made_script.encode(), private=True)
    return Submission(job, plan, seconds, made_script, [*lines, *_cautions(plan, wanted, seconds)])


def _begin(store: Store, job: ShardJob, plan: Plan, given_up: Sequence[tuple[Cell, str]]) -> None:
    """Record the job as a run of the suite, with the rows of cells that are given up."""
    grid = plan.grid
    suite, version = grid.suite.name, grid.suite.version
    facts = provenance(job.device, ProcessExecutor(), job.workers) | {"executor": "shards"}
    store.begin_session(job.id, suite, version, job.suite, {**facts, "shards": job.shards})
    store.define(suite, version, grid.task_digests, grid.learner_digests)
    rows = [make_row(plan.single(cell), cell, "killed", reason) for cell, reason in given_up]
    store.put((row, grid.task_digests[row.task], grid.learner_digests[row.label], "") for row in rows)


def _options(job: ShardJob, plan: Plan, wanted: ShardRequest) -> Iterator[str]:
    """Options of ``sbatch`` beside those that every job has."""
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
    limit = slurm.seconds(wanted.time) if wanted.time else None
    if limit is None:
        return
    if plan.common.cell_seconds > limit - slurm.SIGNAL_SECONDS:
        yield (
            f"A cell may take {plan.common.cell_seconds:g} s; with --time {wanted.time} a shard begins none that could "
            f"be done after {max(0.0, limit - slurm.SIGNAL_SECONDS - plan.common.cell_seconds):g} s."
        )
    if max(seconds) > limit:
        yield (
            f"The longest shard is estimated at {max(seconds):.0f} s, and --time is {limit:.0f} s: what is left then "
            "is for the next `submit`. More shards take less time each."
        )


def workers_for(cpus: int, memory_gb: float | None, cell_gb: float) -> int:
    """How many cells a shard may run at a time: one per core, and no more than its memory allows.

    Raises ``UsageError`` where it does not allow one.
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
    """Hand a job to SLURM; the numbers of its arrays. Raises ``SlurmError``; a job of which it has nothing is gone."""
    try:
        return [array.id for array in slurm.submit(job, job.folder / "script.sh")]
    except slurm.SlurmError:
        if not job.arrays:
            shutil.rmtree(job.folder, ignore_errors=True)
        raise


def run_here(job: ShardJob, tell: Callable[[str], None] = lambda text: None) -> list[int]:
    """Run all shards of a job as processes of this machine, at once; their exit codes.

    When this is interrupted they give back what runs, and end first.
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
