"""``bfc-bench backup``: copy a store, even while a run writes to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def backup(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Store to copy.")],
    to: Annotated[Path, typer.Argument(metavar="TO", help="Folder of the copy; it must not exist yet.")],
) -> None:
    """Copy a store, even while a run is writing to it."""
    from bfc_bench.store.backup import backup

    rows = backup(store, to)
    typer.echo(f"{to}: {rows} rows.")
