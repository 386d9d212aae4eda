"""Connects to MLflow: its address, timeouts and errors, and the experiment of a suite."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bfc_bench.errors import BenchError, TrackingError, UsageError
from bfc_bench.extras.mlflow.database import artifact_root, database_file, database_uri, make_database
from bfc_bench.toolkit.libraries import install_command, missing
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
_REFUSALS = {
    "UNAUTHENTICATED": "the user name or the password is wrong; set MLFLOW_TRACKING_USERNAME and "
    "MLFLOW_TRACKING_PASSWORD to those of a user of this server",
    "PERMISSION_DENIED": "this user lacks the permission; ask the administrator of the server",
}
"""Error messages for failed authentication, by MLflow's error code."""
_ADDRESS_ERRORS = ("InvalidUrlException", "UnsupportedModelRegistryStoreURIException", "NoSuchModuleError")
"""Names of exceptions for an address that MLflow or SQLAlchemy cannot use."""
_EXPERIMENT_NOTE = """\
**step = n**, the number of training points. One run per curve: suite, task, d, label, replicate.

- `nmse`, `error_rate`, `metric/*` (of plugins), `feature_error/*`, `part_error/*`, `stage/*`: errors on fresh test \
points against n. Errors in parts of the target (`part_error/*`) are unbiased estimates, which may be negative.
- `uncut_error/*`, `span_error/*`, `cka/*`: other measures of the hidden features; `weight_correlation/*`, \
`weight_alignment/*`: initial weights compared with the final ones.
- `nstar/0.1`, `nstar/0.01` (step 0): the n at which this replicate's NMSE reaches the level, if it does within the \
tested sizes.
- `fit/exponent`, `fit/exponent_lo`, `fit/exponent_hi` (step 0): slope of log N*(0.1) against log d over the tested d, \
with its 95 % interval; the same on every run of a task and label.

Bands of grouped charts extend from the smallest to the largest replicate, lines are arithmetic means over replicates.
"""


def default_uri(store_dir: Path, uri: str | None = None) -> str:
    """The tracking URI: ``uri`` if given, else ``MLFLOW_TRACKING_URI``, else the database in the store directory."""
    return uri or os.environ.get("MLFLOW_TRACKING_URI") or database_uri(store_dir)


@contextmanager
def connection(uri: str) -> Iterator[MlflowClient]:
    """A context manager that gives an MLflow client with short timeouts and without log messages.

    MLflow reads its settings from environment variables, its limits at each request, so those that the user has not
    set are set inside the block.
    """
    if missing({"mlflow"}):
        raise TrackingError(f"MLflow is not installed: {install_command('mlflow')}")
    added = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield _open(uri)
    except BenchError:
        raise
    except Exception as error:
        raise _translated(error, uri) from None  # the traceback would show the address
    finally:
        for name in added:
            os.environ.pop(name, None)


def _open(uri: str) -> MlflowClient:
    from mlflow import MlflowClient

    if uri.startswith("file:") or ("://" not in uri and uri != "databricks"):
        raise UsageError(f"MLflow at {masked(uri)}: must be an address, such as http://HOST:5000 or sqlite:///FILE.db.")
    if (file := database_file(uri)) is not None:
        make_database(file)
    return MlflowClient(tracking_uri=uri)


def _translated(error: Exception, uri: str) -> BenchError:
    kind = UsageError if type(error).__name__ in _ADDRESS_ERRORS else TrackingError
    reason = _REFUSALS.get(getattr(error, "error_code", ""), "") or _silence(error)
    reason = reason or masked(" ".join(str(error).split()), uri)[:300] or type(error).__name__
    return kind(f"MLflow at {masked(uri)}: {reason}")


def _silence(error: Exception) -> str:
    """What to do if the server does not answer, with the operating system's reason; else an empty string.

    MLflow raises its own exception while it handles that of the connection, which is an ``OSError``.
    """
    if not isinstance(error.__context__, OSError):
        return ""
    match = re.search(r"\[Errno -?\d+\] ([\w ]+)", str(error))
    why = match[1].strip() if match else "it took too long" if "timed out" in str(error) else "the connection broke"
    return f"the server does not answer: {why}. Start it, or name another with --tracking-uri or MLFLOW_TRACKING_URI."


def experiment_name(suite: str, version: int) -> str:
    """Name of the experiment of a suite version."""
    return f"bfc/{suite}@{version}"


def ensure_experiment(client: MlflowClient, uri: str, suite: str, version: int, store_dir: Path) -> str:
    """The id of the experiment, which is created if missing and restored if deleted."""
    name = experiment_name(suite, version)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        root = artifact_root(store_dir) if "://" in uri and not uri.startswith("http") else None
        # With a kind, MLflow does not ask for one and shows the training runs first.
        tags = {NOTE: _EXPERIMENT_NOTE, "mlflow.experimentKind": "custom_model_development", "bfc.kind": "suite"}
        return str(client.create_experiment(name, root, tags))
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return str(experiment.experiment_id)
