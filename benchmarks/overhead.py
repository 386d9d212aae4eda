"""Overhead of the framework per cell for fits of one millisecond, and size of a cell on disk."""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from benchmarks.measurement import Measurement, Spread, all_cpu, timed
from bfc_bench import Context, Data, Learner, Predictor, Register, RunOptions, hookimpl, run_suite
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.suite.model import Suite

DEFAULT_TEST_SIZE = 20_000
FIT_SECONDS = 1e-3


class Busy(Learner):
    """Uses ``seconds`` of CPU time and predicts 0."""

    name: ClassVar[str] = "busy"
    smoke: ClassVar[Mapping[str, Any]] = {}

    seconds: float = FIT_SECONDS
    tag: int = 0
    """Makes the options of two learners differ."""

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Compute until the time is over."""
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass
        return Zero()


class Zero(Predictor):
    """F(x) = 0."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Zeros (m,)."""
        return np.zeros(len(x))


@hookimpl
def bfc_register(register: Register) -> None:
    """Register the learner; this module is the plugin."""
    register.learner(Busy)


def measure(quick: bool) -> Iterator[Measurement]:
    """1000 cells (10 option sets x 10 sizes x 10 replicates) without MLflow; the start of a run is subtracted."""
    shape = (4, 5, 5) if quick else (10, 10, 10)
    cells = shape[0] * shape[1] * shape[2]
    repetitions = 1 if quick else 3
    for executor in ("serial", "processes"):
        grid, one = _suite(*shape), _suite(1, 1, 1)
        _cpu(one, executor)
        costs = [
            1e3 * ((_cpu(grid, executor) - _cpu(one, executor)) / (cells - 1) - FIT_SECONDS) for _ in range(repetitions)
        ]
        yield Measurement(
            f"{cells} cells of 1 ms, {executor}, 1000 test points", "ms/cell", Spread.of(costs), repetitions, goal=1
        )
    grid, one = (_suite(*s, DEFAULT_TEST_SIZE) for s in (shape, (1, 1, 1)))
    costs = [1e3 * ((_cpu(grid, "serial") - _cpu(one, "serial")) / (cells - 1) - FIT_SECONDS)]
    yield Measurement(f"the same, serial, {DEFAULT_TEST_SIZE} test points", "ms/cell", Spread.of(costs), 1)
    yield Measurement(f"{cells} cells on disk", "MB", Spread.of([_megabytes(_suite(*shape))]), 1, goal=2)


def _suite(labels: int, sizes: int, replicates: int, test_size: int = 1000) -> Suite:
    """A suite of one task with ``labels`` x ``sizes`` x ``replicates`` cells."""
    learners = "".join(
        f'[[learner]]\nname = "busy"\nlabel = "busy{i}"\noptions = {{ tag = {i} }}\n' for i in range(labels)
    )
    text = f"""name = "busy"
replicates = {replicates}
test_size = {test_size}
[[task]]
name = "t"
inputs = {{ kind = "uniform" }}
target = {{ kind = "quadratic-densenet", widths = [2], alphas = [1.0] }}
d = [10]
n = {[20 + 5 * i for i in range(sizes)]}
{learners}"""
    return Suite.parse(tomllib.loads(text), "busy")


def _run(suite: Suite, store: str, executor: str) -> None:
    plugins = load_plugins([sys.modules[__name__]])
    run_suite(suite, RunOptions(store=store, executor=executor, jobs=1, device="cpu", plugins=plugins))


def _cpu(suite: Suite, executor: str) -> float:
    """CPU seconds of a run with one worker, workers included."""
    with TemporaryDirectory() as store:
        return timed(lambda: _run(suite, store, executor), all_cpu)


def _megabytes(suite: Suite) -> float:
    """Size of the store in MB after a run."""
    with TemporaryDirectory() as store:
        _run(suite, store, "serial")
        return sum(file.stat().st_size for file in Path(store).rglob("*")) / 1e6
