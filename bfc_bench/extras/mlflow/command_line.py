"""The command line of MLflow: options of ``bfc-bench run``, and ``sync`` and ``ui``."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument

UriOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--tracking-uri",
        metavar="URI",
        envvar="MLFLOW_TRACKING_URI",
        help="MLflow server or database; a database in the store by default.",
    ),
]


def listener(
    no_mlflow: Annotated[
        bool,
        typer.Option(
            "--no-mlflow", envvar="BFC_BENCH_NO_MLFLOW", help="Do not log to MLflow; `bfc-bench sync` can do it later."
        ),
    ] = False,
    tracking_uri: UriOption = None,
) -> object:
    """The listener that logs to MLflow; None, after printing a hint, if MLflow is not installed."""
    if no_mlflow:
        return None
    from bfc_bench.extras.mlflow.live import MlflowTracker
    from bfc_bench.toolkit.libraries import install_command, missing

    if missing({"mlflow"}):
        typer.echo(
            f"MLflow is not installed, so this run is not logged there. To log it: {install_command('mlflow')}; then "
            "`bfc-bench sync SUITE`."
        )
        return None
    return MlflowTracker(tracking_uri, warn=lambda message: typer.echo(f"warning: {message}"))


def sync(suite: SuiteArgument, store: StoreOption = STORE, tracking_uri: UriOption = None) -> None:
    """Bring MLflow up to date with the store."""
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.mlflow.client import default_uri
    from bfc_bench.extras.mlflow.stored_suite import sync_suite
    from bfc_bench.stored_suite import open_store
    from bfc_bench.utils.masking import masked

    if not tracking_uri and store.is_file():
        raise UsageError(f"--tracking-uri must name a server or a database, as {store} is a bundle.")
    with open_store(store) as suites:
        stored = suites[suite]
        done = sync_suite(stored, tracking_uri)
        typer.echo(f"{stored.name}@{stored.version} -> {masked(default_uri(store, tracking_uri))}: {done}")


def ui(
    store: StoreOption = STORE,
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
) -> None:
    """Serve the MLflow pages of a store on this machine until Ctrl-C.

    Prints the addresses of reports and saved views.
    """
    from bfc_bench.extras.mlflow.client import connection
    from bfc_bench.extras.mlflow.database import database_uri
    from bfc_bench.extras.mlflow.server import HOST, become_server
    from bfc_bench.extras.mlflow.views import saved_views
    from bfc_bench.store.store import Store

    with Store(store) as opened:
        suites = opened.suites()
    with connection(database_uri(store)):  # makes the database
        typer.echo(f"MLflow starts: http://{HOST}:{port}  (stop with Ctrl-C)")
    for name, version in suites:
        page = store / "reports" / f"{name}@{version}" / "report.html"
        if page.exists():
            typer.echo(f"  report of {name}@{version}: {page.resolve().as_uri()}")
        for view, path in saved_views(database_uri(store), suite=name, version=version).items():
            typer.echo(f"  {view}: http://{HOST}:{port}{path}")
    become_server(store, port)
