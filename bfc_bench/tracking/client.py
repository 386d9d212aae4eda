"""The connection to MLflow: where it is, how long to wait for it, and the experiment of a suite."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bfc_bench.errors import OutputError, TrackingAddressError, TrackingError
from bfc_bench.toolkit.libraries import install_command, missing
from bfc_bench.tracking.database import database_file, database_uri, make_database
from bfc_bench.utils.masking import masked

if TYPE_CHECKING:
    from mlflow import MlflowClient

NOTE = "mlflow.note.content"
"""Tag whose text MLflow shows as the description of a run or experiment."""

_SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
}
_REFUSED = {
    "UNAUTHENTICATED": "the user name or the password is not accepted; set MLFLOW_TRACKING_USERNAME and "
    "MLFLOW_TRACKING_PASSWORD to those of a user of this server",
    "PERMISSION_DENIED": "this user may not do that there; whoever keeps the server can permit it",
}
"""What is said of a server that wants to know who asks, by MLflow's name of the error."""
_EXPERIMENT_NOTE = """\
**step = n**, the number of training points. One run per curve: suite, task, d, label, replicate.

- `nmse`, `error_rate`, `metric/*` (of plugins), `feature_error/*`, `part_error/*`, `stage/*`: errors on fresh test \
points against n. Those in parts of the target (`part_error/*`) are unbiased estimates, which may be negative.
- `span_error/*`, `cka/*`: other measures of the hidden features; `weight_correlation/*`, `weight_alignment/*`: \
initial weights against the final ones.
- `nstar/0.1`, `nstar/0.01` (step 0): the n at which this replicate's NMSE reaches the level, where it does within the \
tested sizes.
- `fit/exponent`, `fit/exponent_lo`, `fit/exponent_hi` (step 0): slope of log N*(0.1) against log d over the tested d, \
with its 95 % interval; the same on every run of a task and label.

Bands of grouped charts run from the smallest to the largest replicate, lines are arithmetic means over replicates.
"""


def default_uri(store_dir: Path, uri: str | None = None) -> str:
    """The tracking URI: ``uri`` where given, else ``MLFLOW_TRACKING_URI``, else the database in the store directory."""
    return uri or os.environ.get("MLFLOW_TRACKING_URI") or database_uri(store_dir)


def artifact_root(store_dir: Path) -> str:
    """Where the artifacts of a store directory's database lie."""
    return (store_dir.resolve() / "mlflow-artifacts").as_uri()


@contextmanager
def connection(uri: str) -> Iterator[MlflowClient]:
    """An MLflow client that is quiet and gives up soon, for the length of the block.

    MLflow reads its limits from environment variables at each request: those that the user has not set are set for the
    block and taken back after it. Raises ``TrackingError`` for any error of MLflow inside the block, its credentials
    hidden, and where MLflow is not installed; ``TrackingAddressError`` for an address that MLflow can do nothing with.
    """
    if missing({"mlflow"}):
        raise TrackingError(f"MLflow is not installed: {install_command('mlflow')}")
    added = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        with _quiet("mlflow", "alembic"):
            yield _open(uri)
    except TrackingError:
        raise
    except Exception as error:
        raise _translated(error, uri) from None  # its traceback would quote the address
    finally:
        for name in added:
            os.environ.pop(name, None)


def _open(uri: str) -> MlflowClient:
    from mlflow import MlflowClient
    from sqlalchemy.exc import DBAPIError

    try:
        if (file := database_file(uri)) is not None:
            make_database(file)
        return MlflowClient(tracking_uri=uri)
    except (DBAPIError, sqlite3.Error, OSError, OutputError):
        raise
    except Exception as error:
        raise _translated(error, uri, TrackingAddressError) from None


def _translated(error: Exception, uri: str, kind: type[TrackingError] = TrackingError) -> TrackingError:
    if type(error).__name__ == "InvalidUrlException":
        kind = TrackingAddressError
    reason = _REFUSED.get(getattr(error, "error_code", ""), "")
    reason = reason or masked(" ".join(str(error).split()), uri)[:300] or type(error).__name__
    return kind(f"MLflow at {masked(uri)}: {reason}")


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def experiment_name(suite: str, version: int) -> str:
    """The experiment of a suite version."""
    return f"bfc/{suite}@{version}"


def ensure_experiment(client: MlflowClient, uri: str, suite: str, version: int, store_dir: Path | None) -> str:
    """The experiment's id; created where it is missing, restored where it was deleted.

    A database on this machine gets its artifacts beside it: by default they would lie in the current directory.
    """
    name = experiment_name(suite, version)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        local = store_dir is not None and "://" in uri and not uri.startswith("http")
        # The kind keeps MLflow from asking, and opens the experiment on its training runs.
        tags = {NOTE: _EXPERIMENT_NOTE, "mlflow.experimentKind": "custom_model_development", "bfc.kind": "suite"}
        return str(client.create_experiment(name, artifact_root(store_dir) if local and store_dir else None, tags))
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)
