"""Time of the suite ``smoke`` as a user runs it, with report and MLflow, and MLflow's share of it."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.measurement import Measurement, Spread, all_cpu, timed
from bfc_bench.cli import app
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.tracking.live import MlflowTracker

QUICK = ["--set", "replicates=1", "--task", "sphere-cubic", "--learner", "kernel-rbf"]


def measure(quick: bool) -> Iterator[Measurement]:
    """One run into an empty store, with one worker per core and compiled programs cached from an earlier run."""
    spent: list[float] = []

    def counted(call: Callable[..., Any], *arguments: Any) -> Any:
        start = time.thread_time()
        try:
            return call(*arguments)
        finally:
            spent.append(time.thread_time() - start)

    def run() -> None:
        with TemporaryDirectory() as store, contextlib.redirect_stdout(io.StringIO()):
            code = app.run(["run", "smoke", "--store", store, *(QUICK if quick else [])])
        if code:
            raise RuntimeError(f"`bfc-bench run smoke` must end with exit code 0. Got {code}.")

    with (
        patch.object(MlflowTracker, "_follow", _counting(MlflowTracker._follow, counted)),
        patch.object(StoredSuite, "log_report", _counting(StoredSuite.log_report, counted)),
    ):
        start, cpu = time.perf_counter(), timed(run, all_cpu)
    wall = time.perf_counter() - start
    what = "one kernel, 1 replicate" if quick else "everything included"
    yield Measurement(
        f"run smoke, {what}, wall time", "s", Spread.of([wall]), 1, goal=60, note=f"{cpu:.1f} s of CPU time"
    )
    yield Measurement("MLflow's share of its CPU time", "%", Spread.of([100 * sum(spent) / cpu]), 1, goal=5)


def _counting(method: Callable[..., Any], counted: Callable[..., Any]) -> Callable[..., Any]:
    def method_counted(self: Any, *arguments: Any) -> Any:
        return counted(method, self, *arguments)

    return method_counted
