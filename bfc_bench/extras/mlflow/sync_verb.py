"""``bfc-bench sync``: log to MLflow what it lacks."""

from __future__ import annotations

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument
from bfc_bench.extras.mlflow.listener import UriOption


def sync(suite: SuiteArgument, store: StoreOption = STORE, tracking_uri: UriOption = None) -> None:
    """Bring MLflow up to date with the store."""
    from bfc_bench.extras.mlflow.client import default_uri
    from bfc_bench.extras.mlflow.stored_suite import sync_suite
    from bfc_bench.stored_suite import open_store
    from bfc_bench.utils.masking import masked

    with open_store(store) as suites:
        stored = suites[suite]
        done = sync_suite(stored, tracking_uri)
        typer.echo(f"{stored.name}@{stored.version} -> {masked(default_uri(store, tracking_uri))}: {done}")
