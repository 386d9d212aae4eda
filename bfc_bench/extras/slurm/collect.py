"""Brings the rows of shards into the store: their stores are merged into it."""

from __future__ import annotations

from pathlib import Path

from bfc_bench.extras.slurm.job import ShardJob, sharded_runs
from bfc_bench.extras.slurm.queue import states
from bfc_bench.store.merge import NEWER, merge


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
