"""``bfc-bench status``: show the state of the shards of a store."""

from __future__ import annotations

from contextlib import closing

from bfc_bench.cli.options import STORE, StoreOption, console
from bfc_bench.extras.slurm.job import ShardJob


def status(store: StoreOption = STORE) -> None:
    """Show the shards of every submitted job: what SLURM says of each, and how many of its cells have a row."""
    from bfc_bench.cli.tables import print_table
    from bfc_bench.extras.slurm.job import jobs, states
    from bfc_bench.extras.slurm.queue import tasks

    lines = []
    for job in jobs(store):
        for number, state in enumerate(states(job, tasks(job))):
            log = str(job.log(number)) if job.log(number).exists() else ""
            lines.append([job.name, str(number), state, f"{_rows(job, number)} of {len(job.cells[number])}", log])
    print_table(console(), ["job", "shard", "state", "rows", "log"], lines, omit=[("log",)])


def _rows(job: ShardJob, number: int) -> int:
    """The number of rows in a shard's store."""
    from bfc_bench.store.store import Store

    if not (job.store(number) / "results.sqlite").exists():
        return 0
    with closing(Store(job.store(number))) as made:
        return sum(len(made.known_cells(*suite)) for suite in made.suites())
