"""Collects the provenance of results: versions, machine, threads, precision, commit and command line."""

import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from bfc_bench.executors.base import Executor
from bfc_bench.toolkit.libraries import release
from bfc_bench.utils.masking import masked

PACKAGES = (
    "bfc-bench",
    "torch",
    "jax",
    "jaxlib",
    "neural-tangents",
    "scikit-learn",
    "mlflow",
    "pluggy",
    "numpy",
    "scipy",
)


def provenance(device: str, executor: Executor, jobs: int | None) -> dict[str, Any]:
    """What a reader needs to judge or repeat the results of this session, as plain data."""
    program = Path(sys.argv[0])
    name = "bfc-bench" if program.parts[-2:] == ("bfc_bench", "__main__.py") else program.name
    return {
        "command": shlex.join([name, *map(masked, sys.argv[1:])]),
        "packages": package_versions(),
        "python": platform.python_version(),
        "host": platform.node(),
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "device": device,
        "executor": executor.name,
        "executor_options": executor.changed(),
        "jobs": jobs,
        "threads_per_worker": executor.threads,
        "git": git_commit(Path.cwd()),
        "precision": {},
    }


def package_versions() -> dict[str, str | None]:
    """Versions of the packages that results depend on; None for one that is not installed."""
    return {name: release(name) for name in PACKAGES}


def git_commit(directory: Path) -> str | None:
    """The commit checked out in ``directory``, with ``+`` if files differ from it; None outside a repository."""
    command = ("git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+")
    try:
        return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=10, check=True).stdout[
            :-1
        ]
    except (OSError, subprocess.SubprocessError):
        return None


def processor() -> str:
    """Name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
