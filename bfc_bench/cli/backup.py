"""``bfc-bench backup``: a copy of a store, also of one that is being written."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("backup")(backup)


def backup(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The store; a run may be writing it.")],
    to: Annotated[Path, typer.Argument(metavar="TO", help="Folder of the copy, which must not exist yet.")],
) -> None:
    """Copy a store as it is at one moment; the copy is a store as well."""
    from bfc_bench.store.backup import backup

    rows = backup(store, to)
    typer.echo(f"{to}: {rows} rows.")
