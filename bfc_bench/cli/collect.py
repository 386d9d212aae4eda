"""``bfc-bench collect``: copy the rows of shards into the store."""

from __future__ import annotations

import typer

from bfc_bench.cli.options import STORE, StoreOption


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("collect")(collect)


def collect(store: StoreOption = STORE) -> None:
    """Copy the rows that shards have made so far into the store."""
    from bfc_bench.errors import StoreError
    from bfc_bench.shards.collect import collect

    if not store.is_dir():
        raise StoreError(f"There is no store in {store}; `bfc-bench submit SUITE --store {store}` makes one.")
    collected = collect(store)
    for job in collected:
        typer.echo(f"{job}.")
    if not collected:
        typer.echo(f"{store}: nothing to collect.")
