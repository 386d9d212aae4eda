"""Plans the missing cells of a suite as shards of similar length, and merges the stores of shards."""

import heapq
from collections.abc import Collection
from pathlib import Path

from bfc_bench.extras.slurm.job import ShardJob, next_folder, sharded_runs
from bfc_bench.extras.slurm.queue import states
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.plan import Plan, plan_for
from bfc_bench.store import Redo
from bfc_bench.store.merge import NEWER, merge
from bfc_bench.strategies.rounds import results
from bfc_bench.strategies.strategy import next_plan
from bfc_bench.toolkit.precision import Device


def prepare(
    grid: Grid, store: Path, shards: int, workers: int, *,
    device: Device, redo: Collection[Redo] = (), last: float | None = None,
) -> tuple[ShardJob | None, int]:  # fmt: skip
    """The job with the cells that a run would compute next and no running shard has, and the number of cells left out.

    The job is not yet written, and None if there is nothing to do. Rows of shards must have been collected.
    """
    busy = {cell.id for job in sharded_runs(store) if not job.collected for cell in _running(job)}
    options = RunOptions(store=store, redo=redo)
    with results(grid, options) as stored:
        plan = next_plan(grid, options, stored, device, last=last)
        if busy:
            free = [cell for cell in plan.cells if cell.id not in busy]
            plan = plan_for(plan.grid, stored.store if stored else None, device, free, redo=redo)
    parts = divide(plan, shards, workers)
    if not parts:
        return None, len(busy)
    folder = next_folder(store, grid.suite.name)
    return ShardJob(folder, grid.suite.name, plan.grid.suite.definition(), device, workers, parts), len(busy)


def _running(job: ShardJob) -> list[Cell]:
    """The cells of the shards of a job that have not ended."""
    return [cell for part, state in zip(job.cells, states(job), strict=True) if state != "ended" for cell in part]


def divide(plan: Plan, shards: int, workers: int) -> tuple[tuple[Cell, ...], ...]:
    """The cells of each shard, at most ``shards``, of ``workers`` workers each.

    Each batch, longest first, goes to the shard with the least work. No shard takes longer than 4/3 of the best
    division plus one batch (Graham 1969). Equal plans are divided equally. The first shard gets the cells that are not
    run.
    """
    batches = sorted(plan.batches(shards * workers), key=lambda batch: -batch.seconds)
    parts: list[list[Cell]] = [[] for _ in range(max(1, min(shards, len(batches))))]
    parts[0] += [*plan.to_skip, *(cell for cell in plan.todo if cell in plan.broken)]
    loads = [(0.0, number) for number in range(len(parts))]
    for batch in batches:
        load, number = loads[0]
        parts[number] += batch.cells
        heapq.heapreplace(loads, (load + batch.seconds, number))
    return tuple(tuple(part) for part in parts if part)


def collect(store: Path) -> list[str]:
    """Merge the rows that shards have made so far; a line of text for each job that was not collected to its end.

    Of two rows of a cell, as when a cell runs again, the newer stays. Collecting again changes nothing. Raises
    ``StoreError``.
    """
    return [_collect(store, job) for job in sharded_runs(store) if not job.collected]


def _collect(store: Path, job: ShardJob) -> str:
    running = sum(state != "ended" for state in states(job))
    folders = [job.store(number) for number in range(len(job.cells))]
    folders = [folder for folder in folders if (folder / "results.sqlite").exists()]
    counts = merge(folders, store, prefer=NEWER) if folders else "no rows yet"
    if not running:
        job.note("collected")
    return f"{job.name}: {counts}; shards that have not ended: {running} of {len(job.cells)}"
