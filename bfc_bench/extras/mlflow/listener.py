"""The options of ``bfc-bench run`` for MLflow."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

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
        bool, typer.Option("--no-mlflow", help="Do not log to MLflow; `bfc-bench sync` can do it later.")
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
