"""The command line of MLflow: options of ``bfc-bench run``, and ``sync`` and ``ui``."""

import os
import sys
from typing import Annotated, TypeAlias

import typer

from bfc_bench.cli.options import STORE, StoreOption, SuiteArgument

HOST = "127.0.0.1"
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
    from bfc_bench.extras.mlflow.sync import sync_suite
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

    Prints the addresses of saved views. Reports are among the runs of each suite.
    """
    from bfc_bench.extras.mlflow.client import connection
    from bfc_bench.extras.mlflow.database import artifact_root, database_uri
    from bfc_bench.extras.mlflow.views import saved_views
    from bfc_bench.store.store import Store

    uri = database_uri(store)
    with Store(store) as opened:
        suites = opened.suites()
    with connection(uri):  # makes the database: a server that makes it while another does would break it
        typer.echo(f"MLflow starts: http://{HOST}:{port}  (stop with Ctrl-C)")
    for name, version in suites:
        for view, path in saved_views(uri, suite=name, version=version).items():
            typer.echo(f"  {view}: http://{HOST}:{port}{path}")
    # Without the artifact proxy, artifacts have the same URIs through the server and through the database.
    command = [sys.executable, "-m", "mlflow", "server", "--no-serve-artifacts", "--workers=1"]
    command += [f"--host={HOST}", f"--port={port}", f"--backend-store-uri={uri}"]
    command += [f"--default-artifact-root={artifact_root(store)}", "--uvicorn-opts=--no-access-log"]
    environment = os.environ | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)
