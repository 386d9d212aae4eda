"""``bfc-bench collect``: bring the rows of shards into the store."""

import typer

from bfc_bench.cli.options import STORE, StoreOption


def collect(store: StoreOption = STORE) -> None:
    """Bring the rows that shards have made so far into the store, while they run or after."""
    from bfc_bench.errors import StoreError
    from bfc_bench.extras.slurm.collect import collect as collect_rows

    if not store.is_dir():
        raise StoreError(f"There is no store in {store}; `bfc-bench submit SUITE --store {store}` makes one.")
    for line in collect_rows(store) or ["No shards are left to collect."]:
        typer.echo(line)
