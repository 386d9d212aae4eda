"""Facts about the machine that a table is measured on, and an environment with one thread."""

from __future__ import annotations

import os
from typing import Any

from bfc_bench.executors.environment import worker_variables
from bfc_bench.executors.serial import SerialExecutor
from bfc_bench.run.provenance import provenance
from bfc_bench.toolkit.precision import resolve_device

KEPT = ("packages", "python", "platform", "processor", "cores", "git")


def one_thread() -> dict[str, str]:
    """Environment variables of a process whose numerical libraries, including XLA, use one thread."""
    return {**os.environ, **worker_variables(), "MLFLOW_DISABLE_TELEMETRY": "true"}


def has_gpu() -> bool:
    """Whether torch or jax can compute on a GPU here."""
    return resolve_device("auto") == "cuda"


def describe() -> dict[str, Any]:
    """Processor, cores, versions and commit, as plain data."""
    facts = provenance("cpu", SerialExecutor(), 1)
    return {key: facts[key] for key in KEPT}


def load() -> float | None:
    """Load average of the last minute per core (1 is busy), or None if the system does not provide it."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return None
