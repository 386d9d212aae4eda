"""``bfc-bench merge``: several stores as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("merge")(merge)


def merge(
    stores: Annotated[
        list[Path], typer.Argument(metavar="STORE...", help="Stores to take from; they stay as they are.")
    ],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="The store to put it all into, or a new one.")],
    prefer: Annotated[
        str,
        typer.Option(
            "--prefer", metavar="newer|STORE", help="Which row of a cell to keep where two say different things."
        ),
    ] = "",
) -> None:
    """Put the rows of several stores into one, with runs, looks and artifacts. All or nothing; twice is as once."""
    from bfc_bench.store.merge import merge

    done = merge(stores, into, prefer=prefer)
    for remark in done.remarks:
        typer.echo(remark)
    typer.echo(f"{into}: {done}.")
