"""``bfc-bench collect``: what shards have made into the store."""

from __future__ import annotations

import typer

from bfc_bench.cli.options import STORE, StoreOption


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("collect")(collect)


def collect(store: StoreOption = STORE) -> None:
    """Put the rows that shards have made so far into the store. Running it twice adds nothing."""
    from bfc_bench.shards.collect import collect

    found = collect(store)
    for job in found:
        typer.echo(f"{job}.")
    if not found:
        typer.echo(f"{store}: nothing to collect.")
