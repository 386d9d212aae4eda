"""``bfc-bench merge``: merge several stores into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("merge")(merge)


def merge(
    stores: Annotated[
        list[Path],
        typer.Argument(
            metavar="STORE...", help="Stores, bundles or results repositories to merge; they are not changed."
        ),
    ],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Store to merge into; created if needed.")],
    prefer: Annotated[
        str,
        typer.Option("--prefer", metavar="newer|STORE", help="Which row to keep if two stores differ."),
    ] = "",
) -> None:
    """Merge several stores or bundles into one store, with their runs, looks and artifacts.

    Nothing is written if an error occurs. Merging again adds nothing.
    """
    from bfc_bench.bundle.repository import expanded
    from bfc_bench.bundle.unpack import stores_of
    from bfc_bench.store.merge import merge

    with stores_of(expanded(stores)) as folders:
        preferred = folders.get(Path(prefer), prefer) if prefer else ""
        done = merge(list(folders.values()), into, prefer=str(preferred))
    for remark in done.remarks:
        typer.echo(remark)
    typer.echo(f"{into}: {done}.")
