"""``python -m bfc_bench.extras.slurm JOB NUMBER``: runs the cells of one shard of a job that have no row yet."""

import signal
import sys
from pathlib import Path

from bfc_bench.cli.app import exit_code, interrupt, leave
from bfc_bench.errors import UsageError
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.extras.slurm.job import ShardJob
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import make_grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.session import run_cells
from bfc_bench.suite.model import Suite


def main(folder: Path, number: int) -> int:
    """Run a shard into its store and return the exit code, which is that of ``bfc-bench run``."""
    job, plugins = ShardJob.read(folder), load_plugins()
    grid = make_grid(Suite.parse(job.suite, job.where), plugins, job.where)
    cells = job.cells[number]
    if strange := sum(cell != grid.cell(cell.task, cell.label, cell.d, cell.n, cell.replicate) for cell in cells):
        raise UsageError(
            f"{job.name}: cells of shard {number} that differ from those where it was submitted: {strange}. Use "
            "the same versions of bfc-bench and of its plugins on both machines."
        )
    options = RunOptions(
        store=job.store(number), device=job.device, jobs=job.workers, executor=ProcessExecutor.name, plugins=plugins
    )
    session = run_cells(grid, cells, options)
    print(session.counts)
    return session.exit_code


if __name__ == "__main__":
    for told in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(told, interrupt)
    leave(exit_code(lambda: main(Path(sys.argv[1]), int(sys.argv[2]))))
