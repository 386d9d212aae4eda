"""``bfc-bench submit``: run a suite in shards, as an array of SLURM jobs or as processes of this machine."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import (
    STORE,
    DataOption,
    LearnerOption,
    RedoOption,
    SetOption,
    StoreOption,
    SuiteArgument,
    TaskOption,
    console,
    redo_of,
)

if TYPE_CHECKING:
    from bfc_bench.shards.submit import Submission
    from bfc_bench.toolkit.precision import Device

UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("submit")(submit)


def submit(
    suite: SuiteArgument,
    shards: Annotated[int, typer.Option("--shards", metavar="K", min=1, help="Maximum number of shards.")],
    partition: Annotated[
        str, typer.Option("--partition", metavar="NAME", help="SLURM partition; the cluster's default if not given.")
    ] = "",
    time: Annotated[
        str, typer.Option("--time", metavar="T", help="Time limit of each shard as SLURM writes it, e.g. 4:00:00.")
    ] = "",
    memory: Annotated[
        str,
        typer.Option(
            "--memory", metavar="SIZE", help="Memory of each shard, e.g. 8G; by default what its cells may use."
        ),
    ] = "",
    account: Annotated[str, typer.Option("--account", metavar="NAME", help="SLURM account to charge.")] = "",
    cpus: Annotated[
        int, typer.Option("--cpus", metavar="N", min=1, help="Cores of each shard; each runs one cell.")
    ] = 1,
    sbatch: Annotated[
        str, typer.Option("--sbatch", metavar="OPTIONS", help="More options for sbatch, in quotes.")
    ] = "",
    local: Annotated[bool, typer.Option("--local", help="Run the shards on this machine and wait for them.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the batch script and write nothing.")] = False,
    learner: LearnerOption = None,
    task: TaskOption = None,
    set_: SetOption = None,
    device: Annotated[
        str,
        typer.Option("--device", metavar="cpu|cuda", help="Device that learners use; cuda requests a GPU per shard."),
    ] = "cpu",
    store: StoreOption = STORE,
    data: DataOption = None,
    redo: RedoOption = None,
) -> None:
    """Run the missing cells of a suite in shards, as an array of SLURM jobs.

    You need not stay logged in. `bfc-bench status` shows the shards, and `bfc-bench collect` copies their rows.
    """
    from bfc_bench.api import grid_of
    from bfc_bench.errors import UsageError
    from bfc_bench.plugins import load_plugins
    from bfc_bench.shards import slurm
    from bfc_bench.shards.collect import collect
    from bfc_bench.shards.submit import ShardRequest, prepare, run_here, send, workers_for

    if device not in ("cpu", "cuda"):
        raise UsageError(f"--device must be cpu or cuda, because the machines are not known yet. Got {device!r}.")
    if time and slurm.seconds(time) is None:
        raise UsageError(f"--time must be a time as SLURM writes it, such as 30, 4:00:00 or 1-12. Got {time!r}.")
    out, grid = console(160), grid_of(suite, set_ or (), load_plugins(), learner or (), task or ())
    memory_gb = _gigabytes(memory) if memory else None
    workers = workers_for(cpus, memory_gb, grid.suite.budget.memory_gb)
    request = ShardRequest(shards, workers, partition, time, memory_gb, account, tuple(_options(sbatch)))
    on: Device = "cuda" if device == "cuda" else "cpu"
    made = prepare(grid, store, request, device=on, redo=redo_of(redo), dry=dry_run)
    for line in made.lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if workers < cpus:
        out.print(f"{workers} cells at a time, because --memory holds no more.", highlight=False, soft_wrap=True)
    if made.job is None:
        out.print("nothing to do", highlight=False)
        return
    if dry_run:
        print(made.script, end="")
        return
    out.print(_summary(made), markup=False, highlight=False, soft_wrap=True)
    if not local:
        ids = send(made.job)
        arrays = "job" if len(ids) == 1 else f"{len(ids)} arrays, because of the size limit of one:"
        text = f"Submitted as {arrays} {', '.join(ids)}. `bfc-bench status --store {store}` shows its progress."
        out.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    codes = run_here(made.job, lambda line: out.print(line, markup=False, highlight=False, soft_wrap=True))
    for collected in collect(store):
        out.print(f"{collected}.", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(max(map(abs, codes)) and 1)


def _summary(made: Submission) -> str:
    assert made.job is not None
    cells = len(made.plan.todo) + len(made.plan.to_skip)
    return (
        f"{made.job.name}: {cells} cells in {made.job.shards} shards, about {sum(made.seconds):.0f} s in all and "
        f"{max(made.seconds):.0f} s the longest."
    )


def _gigabytes(text: str) -> float:
    """Gigabytes from ``8G``, ``8192M``, or megabytes without a unit, as in SLURM."""
    from bfc_bench.errors import UsageError

    match = re.fullmatch(r"(\d+)([KMGT]?)", text.upper().removesuffix("B"))
    if not match:
        raise UsageError(f"--memory must be a size such as 8G or 8192M. Got {text!r}.")
    return int(match[1]) * UNITS[match[2] or "M"] / 1e9


def _options(text: str) -> list[str]:
    """Lines of options for ``sbatch`` from one text: each word with a leading dash begins a line."""
    lines: list[str] = []
    for word in shlex.split(text):
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines
