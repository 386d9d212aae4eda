"""Overhead of the framework per cell for fits of one millisecond, and size of a cell on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.busy import FIT_SECONDS, busy_suite, installed
from benchmarks.measurement import Measurement, Spread, all_cpu, timed
from bfc_bench import RunOptions, run_suite
from bfc_bench.suite.model import Suite

DEFAULT_TEST_SIZE = 20_000


def measure(quick: bool) -> Iterator[Measurement]:
    """1000 cells (10 option sets x 10 sizes x 10 replicates) without MLflow; the start of a run is subtracted."""
    shape = (4, 5, 5) if quick else (10, 10, 10)
    cells = shape[0] * shape[1] * shape[2]
    repetitions = 1 if quick else 3
    with installed() as site:
        sys.path.insert(0, str(site))
        for executor in ("serial", "processes"):
            grid, one = busy_suite(*shape), busy_suite(1, 1, 1)
            _cpu(one, executor)
            costs = [
                1e3 * ((_cpu(grid, executor) - _cpu(one, executor)) / (cells - 1) - FIT_SECONDS)
                for _ in range(repetitions)
            ]
            yield Measurement(
                f"{cells} cells of 1 ms, {executor}, 1000 test points", "ms/cell", Spread.of(costs), repetitions, goal=1
            )
        grid, one = (busy_suite(*s, DEFAULT_TEST_SIZE) for s in (shape, (1, 1, 1)))
        costs = [1e3 * ((_cpu(grid, "serial") - _cpu(one, "serial")) / (cells - 1) - FIT_SECONDS)]
        yield Measurement(f"the same, serial, {DEFAULT_TEST_SIZE} test points", "ms/cell", Spread.of(costs), 1)
        yield Measurement(f"{cells} cells on disk", "MB", Spread.of([_megabytes(busy_suite(*shape))]), 1, goal=2)


def _cpu(suite: Suite, executor: str) -> float:
    """CPU seconds of a run with one worker, workers included."""
    with TemporaryDirectory() as store:
        return timed(
            lambda: run_suite(suite, RunOptions(store=store, executor=executor, jobs=1, device="cpu")), all_cpu
        )


def _megabytes(suite: Suite) -> float:
    """Size of the store in MB after a run."""
    with TemporaryDirectory() as store:
        run_suite(suite, RunOptions(store=store, executor="serial", jobs=1, device="cpu"))
        return sum(file.stat().st_size for file in Path(store).rglob("*")) / 1e6
