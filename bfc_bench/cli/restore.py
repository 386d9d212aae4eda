"""``bfc-bench restore``: put a backup in the place of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bfc_bench.cli.options import STORE, StoreOption


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("restore")(restore)


def restore(
    backup: Annotated[
        Path, typer.Argument(metavar="BACKUP", help="Folder that `backup` made, or its results.sqlite alone.")
    ],
    store: StoreOption = STORE,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a store that has more rows than the backup, or cannot be read.")
    ] = False,
) -> None:
    """Verify a backup and put it in the place of a store, with nothing of a run that was killed there."""
    from bfc_bench.store.restore import restore

    typer.echo(f"{store}: {restore(backup, store, force=force)}.")
