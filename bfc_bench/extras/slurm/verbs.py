"""``bfc-bench submit``, ``status`` and ``collect``: run a suite in shards, look at them and bring their rows."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bfc_bench.cli import options
from bfc_bench.utils.counted import counted

if TYPE_CHECKING:
    from bfc_bench.extras.slurm.job import ShardJob

SESSION_GB = 1.0
"""Memory of a shard, in GB, beside that of its cells: the session and the libraries of its workers."""


def submit(
    suite: options.SuiteArgument,
    shards: Annotated[int, typer.Option("--shards", metavar="K", min=1, help="Maximum number of shards.")],
    cpus: Annotated[
        int, typer.Option("--cpus", metavar="N", min=1, help="Cores of each shard; each runs one cell.")
    ] = 1,
    sbatch: Annotated[
        str,
        typer.Option(
            "--sbatch", metavar="OPTIONS", help="Options for sbatch, such as '--time=4:00:00 --partition=long'."
        ),
    ] = "",
    local: Annotated[bool, typer.Option("--local", help="Run the shards on this machine and wait for them.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the batch script and submit nothing.")] = False,
    learner: options.LearnerOption = None,
    task: options.TaskOption = None,
    set_: options.SetOption = None,
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option("--device", help="Device of learners; cuda asks for a GPU per shard.")
    ] = "cpu",
    store: options.StoreOption = options.STORE,
    data: options.DataOption = None,
    locate: options.LocateOption = None,
    until_decided: options.UntilDecidedOption = False,
    up_to: options.UpToOption = None,
    redo: options.RedoOption = None,
) -> None:
    """Run the missing cells of a suite in shards, as an array of SLURM jobs.

    You need not stay logged in: `bfc-bench status` shows the shards, and `bfc-bench collect` brings their rows.
    """
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.slurm.queue import script, send
    from bfc_bench.extras.slurm.shards import collect, prepare
    from bfc_bench.plugins.manager import load_plugins
    from bfc_bench.store.store import Store
    from bfc_bench.strategies.api import grid_of, located

    last = options.last_look(until_decided, up_to, locate)
    try:
        own = shlex.split(sbatch)
    except ValueError as error:
        raise UsageError(f"--sbatch {sbatch}: {error}.") from None
    for line in () if dry_run else collect(store):
        typer.echo(line)
    grid = located(grid_of(suite, set_ or (), load_plugins(), learner or (), task or ()), locate)
    job, left_out = prepare(grid, store, shards, cpus, device=device, redo=options.redo_of(redo), last=last)
    if left_out:
        typer.echo(f"left out, as shards that wait or run have them: {counted(left_out, 'cell')}")
    if job is None:
        typer.echo("nothing to do")
        return
    memory = int((cpus * grid.suite.budget.memory_gb + SESSION_GB) * 1e9) // 2**20
    resources = [f"--mem={memory}M", *["--gres=gpu:1"] * (device == "cuda"), *[shlex.join(own)] * bool(own)]
    if dry_run:
        typer.echo(script(job, resources), nl=False)
        return
    Store(store, write=True).close()  # so that rows can be collected
    job.write()
    typer.echo(f"{job.name}: {counted(sum(map(len, job.cells)), 'cell')} in {counted(len(job.cells), 'shard')}")
    if local:
        codes = _run_here(job)
        for line in collect(store):
            typer.echo(line)
        raise typer.Exit(max(map(abs, codes)) and 1)
    job.note("array", send(script(job, resources)))
    typer.echo(f"Submitted as {job.array}. `bfc-bench status --store {store}` shows its progress.")


def _run_here(job: ShardJob) -> list[int]:
    """Run all shards at once as processes of this machine, and return their exit codes; an interrupt stops them."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(len(job.cells)):
            command = [sys.executable, "-m", __package__ or "", str(job.folder), str(number)]
            with job.log(number).open("ab") as log:
                fcntl.flock(log, fcntl.LOCK_EX)  # which the process inherits
                started.append(
                    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
                )
        return [process.wait() for process in started]
    except BaseException:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()
        raise


def status(store: options.StoreOption = options.STORE) -> None:
    """Show the shards of every submitted job: what SLURM says of each, and how many of its cells have a row."""
    from bfc_bench.cli.tables import print_table
    from bfc_bench.extras.slurm.job import sharded_runs
    from bfc_bench.extras.slurm.queue import states
    from bfc_bench.store.store import Store

    Store(store).close()  # raises if there is none
    lines = []
    for job in sharded_runs(store):
        for number, state in enumerate(states(job)):
            log = str(job.log(number)) if job.log(number).exists() else ""
            lines.append([job.name, str(number), state, f"{_rows(job, number)} of {len(job.cells[number])}", log])
    print_table(options.console(), ["job", "shard", "state", "rows", "log"], lines, omit=[("log",)])


def _rows(job: ShardJob, number: int) -> int:
    """The number of rows in a shard's store."""
    from bfc_bench.store.store import Store

    if not (job.store(number) / "results.sqlite").exists():
        return 0
    with Store(job.store(number)) as shard:
        return sum(len(shard.known_cells(*suite)) for suite in shard.suites())


def collect(store: options.StoreOption = options.STORE) -> None:
    """Bring the rows that shards have made so far into the store, while they run or after."""
    from bfc_bench.extras.slurm import shards
    from bfc_bench.store.store import Store

    Store(store).close()  # raises if there is none
    for line in shards.collect(store) or ["No shards are left to collect."]:
        typer.echo(line)
