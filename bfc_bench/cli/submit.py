"""``bfc-bench submit``: a suite in parts, as an array of SLURM jobs or as processes of this machine."""

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
    shards: Annotated[int, typer.Option("--shards", metavar="K", min=1, help="In how many parts, at most.")],
    partition: Annotated[str, typer.Option("--partition", help="SLURM's; its default one by default.")] = "",
    time: Annotated[str, typer.Option("--time", metavar="T", help="Of each shard, as SLURM writes it: 4:00:00.")] = "",
    memory: Annotated[
        str, typer.Option("--memory", metavar="8G", help="Of each shard; what its cells may take by default.")
    ] = "",
    account: Annotated[str, typer.Option("--account", help="Who pays.")] = "",
    cpus: Annotated[int, typer.Option("--cpus", min=1, help="Cores of each shard, one cell each.")] = 1,
    sbatch: Annotated[
        str, typer.Option("--sbatch", metavar="OPTIONS", help="Further options of sbatch, in quotes.")
    ] = "",
    local: Annotated[bool, typer.Option("--local", help="Run them on this machine instead, and wait.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the script and write nothing.")] = False,
    learner: LearnerOption = None,
    task: TaskOption = None,
    set_: SetOption = None,
    device: Annotated[
        str, typer.Option("--device", metavar="cpu|cuda", help="Where learners compute; cuda asks for one GPU a shard.")
    ] = "cpu",
    store: StoreOption = STORE,
    data: DataOption = None,
    redo: RedoOption = None,
) -> None:
    """Run what is missing of a suite in parts, each on a machine that SLURM chooses. Nobody has to stay logged in."""
    from bfc_bench.api import grid_of
    from bfc_bench.errors import UsageError
    from bfc_bench.plugins import load_plugins
    from bfc_bench.shards import slurm
    from bfc_bench.shards.collect import collect
    from bfc_bench.shards.submit import ShardRequest, prepare, run_here, send, workers_for

    if device not in ("cpu", "cuda"):
        raise UsageError(f"--device must be cpu or cuda: the machines are not chosen yet. Got {device!r}.")
    if time and slurm.seconds(time) is None:
        raise UsageError(f"--time must be a time as SLURM writes it, such as 30, 4:00:00 or 1-12. Got {time!r}.")
    out, grid = console(160), grid_of(suite, set_ or (), load_plugins(), learner or (), task or ())
    memory_gb = _gigabytes(memory) if memory else None
    workers = workers_for(cpus, memory_gb, grid.suite.budget.memory_gb)
    wanted = ShardRequest(shards, workers, partition, time, memory_gb, account, tuple(_options(sbatch)))
    on: Device = "cuda" if device == "cuda" else "cpu"
    made = prepare(grid, store, wanted, device=on, redo=redo_of(redo), dry=dry_run)
    for line in made.lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if workers < cpus:
        out.print(f"{workers} cells at a time: --memory does not hold more.", highlight=False, soft_wrap=True)
    if made.job is None:
        out.print("nothing to do", highlight=False)
        return
    if dry_run:
        print(made.script, end="")
        return
    out.print(_summary(made), markup=False, highlight=False, soft_wrap=True)
    if not local:
        ids = send(made.job)
        arrays = "job" if len(ids) == 1 else f"{len(ids)} arrays, since one may not be so large:"
        text = f"Submitted as {arrays} {', '.join(ids)}. `bfc-bench status --store {store}` shows where it stands."
        out.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    codes = run_here(made.job, lambda line: out.print(line, markup=False, highlight=False, soft_wrap=True))
    for found in collect(store):
        out.print(f"{found}.", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(max(map(abs, codes)) and 1)


def _summary(made: Submission) -> str:
    assert made.job is not None
    cells = len(made.plan.todo) + len(made.plan.to_skip)
    return (
        f"{made.job.name}: {cells} cells in {made.job.shards} shards, about {sum(made.seconds):.0f} s in all and "
        f"{max(made.seconds):.0f} s the longest."
    )


def _gigabytes(text: str) -> float:
    """``8G``, ``8192M``, or megabytes without a unit, as SLURM has them."""
    from bfc_bench.errors import UsageError

    found = re.fullmatch(r"(\d+)([KMGT]?)", text.upper().removesuffix("B"))
    if not found:
        raise UsageError(f"--memory must be a size such as 8G or 8192M. Got {text!r}.")
    return int(found[1]) * UNITS[found[2] or "M"] / 1e9


def _options(text: str) -> list[str]:
    """Options of ``sbatch`` from one text: an option that begins with a dash begins a line of the script."""
    lines: list[str] = []
    for word in shlex.split(text):
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines
