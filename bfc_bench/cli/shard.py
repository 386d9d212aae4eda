"""``bfc-bench shard``: run one shard of a job; the command in SLURM scripts, which works without SLURM too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import console


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("shard", hidden=True)(shard)


def shard(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the job, made by `bfc-bench submit`.")],
    number: Annotated[int, typer.Argument(metavar="NUMBER", min=0, help="Number of the shard.")],
) -> None:
    """Run the cells of one shard of a job that have no row yet.

    Exit code 130 if the shard was told to stop before it was done.
    """
    from bfc_bench.cli.display import Display
    from bfc_bench.shards.shard import run_shard

    out = console(160)
    with Display(out) as display:
        code = run_shard(folder, number, listeners=[display])
    out.print(f"shard {number}: {'told to stop before it was done' if code else 'done'}", highlight=False)
    raise typer.Exit(code)
