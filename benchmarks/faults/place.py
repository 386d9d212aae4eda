"""The folder in which faults are provoked, with suites, stores, misbehaving learners and commands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bfc_bench import open_store
from bfc_bench.store.row import RUN_COLUMNS, Row

GALLERY = Path(__file__).parents[2] / "tests" / "breaking_learners.py"
"""Learners that misbehave; the tests use them too."""
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SUITE = """\
name = "{name}"
replicates = {replicates}
test_size = 200
levels = [0.9]
{extra}
[budget]
cell_seconds = {seconds}
{budget}
[[task]]
name = "t"
inputs = {{ kind = "gaussian" }}
target = {{ kind = "quadratic-densenet", widths = [2], alphas = [1.0] }}
labels = {{ kind = "noise", sd = 0.1 }}
d = [4]
n = [10, 20]
"""
IN_MLFLOW = """
import sys
from mlflow import MlflowClient
client = MlflowClient(sys.argv[1])
(experiment,) = [e for e in client.search_experiments() if e.name.startswith("bfc/")]
runs = client.search_runs([experiment.experiment_id], "tags.`bfc.kind` = 'curve'", max_results=1000)
print(len(runs), sum(len(client.get_metric_history(run.info.run_id, "nmse")) for run in runs))
"""
LEARNER = '\n[[learner]]\nname = "{name}"\nlabel = "{label}"\noptions = {{ {options} }}\n'


class Place:
    """A folder in which the misbehaving learners are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        site, info = folder / "site", folder / "site" / "breaking_learners-1.0.dist-info"
        info.mkdir(parents=True)
        shutil.copy(GALLERY, site)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: breaking-learners\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[bfc_bench]\nfaulty = breaking_learners\n")
        path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
        self.environment = {**os.environ, "PYTHONPATH": path, "MLFLOW_DISABLE_TELEMETRY": "true"}
        self.environment.pop("MLFLOW_TRACKING_URI", None)
        self._names = 0

    def new(self, name: str) -> Path:
        """A new path, at which nothing exists."""
        self._names += 1
        return self.folder / f"{name}-{self._names}"

    def suite(
        self,
        learners: Sequence[tuple[str, str, Mapping[str, Any]]] = (("mean", "mean", {}),),
        *,
        replicates: int = 1,
        seconds: float = 60,
        budget: str = "",
        extra: str = "",
    ) -> Path:
        """Write a suite file with cells at n = 10 and 20.

        Args:
            learners: name, label and options of each learner.
            replicates: number of replicates.
            seconds: time limit of a cell.
            budget: further lines of the budget.
            extra: further lines at the top level.
        """
        text = SUITE.format(name="tiny", replicates=replicates, seconds=seconds, budget=budget, extra=extra)
        for name, label, options in learners:
            inline = ", ".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
            text += LEARNER.format(name=name, label=label, options=inline)
        path = self.new("suite").with_suffix(".toml")
        path.write_text(text)
        return path

    def bench(self, *arguments: object, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``bfc-bench ARGUMENTS`` to its end."""
        return self.python("-m", "bfc_bench", *arguments, timeout=timeout, **environment)

    def python(self, *arguments: object, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``python ARGUMENTS`` to its end. A traceback replaces the exit code by 70."""
        ended = subprocess.run(
            [sys.executable, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**self.environment, **environment},
            cwd=self.folder,
        )
        if ended.returncode >= 0 and "Traceback (most recent call last)" in ended.stderr:
            ended.returncode = 70
        return ended

    def start(self, *arguments: object, **environment: str) -> subprocess.Popen[bytes]:
        """Start ``bfc-bench ARGUMENTS`` in a new process group."""
        command = [sys.executable, "-m", "bfc_bench", *map(str, arguments)]
        environment = {**self.environment, **environment}
        return subprocess.Popen(command, **QUIET, start_new_session=True, env=environment, cwd=self.folder)

    def rows(self, store: Path) -> list[Row]:
        """Rows of the only suite of a store."""
        with open_store(store) as held:
            return held.only().rows()

    def in_mlflow(self, address: str) -> list[str]:
        """Numbers of curve runs and of nmse values in MLflow at an address; empty if it has none."""
        return self.python("-c", IN_MLFLOW, address).stdout.split()


def numbers(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The columns of rows that must be equal in two runs of the same cells."""
    plain = ({k: v for k, v in row.as_dict().items() if k not in RUN_COLUMNS} for row in rows)
    return sorted(plain, key=lambda row: str(row["cell"]))


def wait_until(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Wait until a condition is true, and return False if it is not within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(met)


def group_of(leader: int) -> list[int]:
    """Ids of the processes in the process group or session of ``leader``."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,pgid=,sid=,stat="], capture_output=True, text=True, check=True)
    alive = [line.split()[:3] for line in listed.stdout.splitlines() if "Z" not in line]
    return [int(pid) for pid, *of in alive if str(leader) in of]


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all processes of its group."""
    for pid in [*group_of(process.pid), process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
