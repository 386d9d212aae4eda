"""Plans the missing cells of a suite as shards of similar length."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from bfc_bench.extras.slurm.job import ShardJob, jobs, next_folder, states
from bfc_bench.extras.slurm.queue import tasks
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.plan import Plan, plan_for
from bfc_bench.store import Redo
from bfc_bench.store.store import Store
from bfc_bench.toolkit.precision import Device


def prepare(
    grid: Grid, store: Path, shards: int, workers: int, *, device: Device, redo: Collection[Redo] = ()
) -> tuple[ShardJob | None, int]:
    """The job with the missing cells that no running shard has, not yet written, and the number of cells left out.

    The job is None if there is nothing to do. Rows of shards must have been collected.
    """
    busy = {cell.id for job in jobs(store) if not job.collected for cell in _running(job)}
    free = replace(grid, only=tuple(cell for cell in grid.cells() if cell.id not in busy)) if busy else grid
    with Store(store) if (store / "results.sqlite").exists() else nullcontext() as opened:
        plan = plan_for(free, opened, device, redo=redo)
    parts = divide(plan, shards, workers)
    if not parts:
        return None, len(busy)
    folder = next_folder(store, grid.suite.name)
    return ShardJob(folder, grid.suite.name, grid.suite.definition(), device, workers, parts), len(busy)


def _running(job: ShardJob) -> list[Cell]:
    """The cells of the shards of a job that have not ended."""
    found = states(job, tasks(job))
    return [cell for part, state in zip(job.cells, found, strict=True) if state != "ended" for cell in part]


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
