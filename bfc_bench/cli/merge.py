"""``bfc-bench merge``: merge several stores into one."""

from pathlib import Path
from typing import Annotated

import typer


def merge(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", help="Stores to merge; they are not changed.")],
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Store to merge into; created if needed.")],
    prefer: Annotated[
        str, typer.Option("--prefer", metavar="newer|STORE", help="Which row to keep if two stores differ.")
    ] = "",
) -> None:
    """Merge several stores into one store, with their runs and artifacts.

    Nothing is written if an error occurs. Merging again adds nothing.
    """
    from bfc_bench.store.merge import merge

    done = merge(stores, into, prefer=prefer)
    for remark in done.remarks:
        typer.echo(remark)
    typer.echo(f"{into}: {done}.")
