"""Requirements of a listener, tested in a run of four cells in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from bfc_bench.executors.serial import SerialExecutor
from bfc_bench.learner import Capabilities, Context, Data, Learner, Predictor
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.run.session import run
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite
from bfc_bench.testing.requirement import require, requirement
from bfc_bench.utils.hook_markers import PROJECT, hookimpl

EVENTS = ("bfc_run_started", "bfc_result", "bfc_run_finished")
SUITE: dict[str, Any] = {
    "name": "check",
    "replicates": 2,
    "test_size": 100,
    "task": [{"name": "t", "inputs": {"kind": "uniform"}, "target": {"kind": "linear"}, "d": [3], "n": [10, 20]}],
    "learner": [{"name": "check-mean"}],
}


class Mean(Learner):
    """The mean of the labels."""

    name: ClassVar[str] = "check-mean"
    capabilities: ClassVar[Capabilities] = Capabilities()

    def fit(self, train: Data, ctx: Context) -> Predictor:
        """Compute the mean; no fit exists at n = 20, so that some cells fail."""
        if train.n == 20:
            raise ValueError("made up")
        return _Constant(float(train.y.mean()))


@dataclass
class _Constant(Predictor):
    value: float

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.full(len(x), self.value)


class _Helper:
    """Registers the learner of the run."""

    @hookimpl
    def bfc_register_learners(self, register: Callable[[type[Learner]], None]) -> None:
        register(Mean)


class _Failures(logging.Handler):
    """Collects what the plugins' manager reports: plugin, hook, error."""

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[tuple[str, str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.args, tuple) and len(record.args) == 3:
            plugin, hook, error = map(str, record.args)
            self.reported.append((plugin, hook, error))


@dataclass(frozen=True)
class Heard:
    """What came of the run."""

    failures: list[str]
    """``hook: error`` of the listener."""
    rows: list[Row]
    """Rows of the store, without times and what says which run made them."""


@dataclass
class ListenerTrial:
    """A tested listener: a module, or an object with methods that are marked with ``hookimpl``."""

    listener: object

    @cached_property
    def hooks(self) -> list[str]:
        """Names of the events that it implements."""
        return [name for name in EVENTS if hasattr(getattr(self.listener, name, None), f"{PROJECT}_impl")]

    @cached_property
    def problems(self) -> list[str]:
        """Why hooks of it cannot be called."""
        plugins = load_plugins([self.listener])
        name = plugins.manager.get_name(self.listener) or type(self.listener).__name__
        return [item.why for item in plugins.unavailable if item.plugin == name or name in item.plugin]

    def heard(self, *, listening: bool) -> Heard:
        """Run the suite with or without the listener."""
        failures = _Failures()
        log = logging.getLogger("bfc_bench.plugins")
        plugins = load_plugins([_Helper(), *([self.listener] if listening else [])])
        name = plugins.manager.get_name(self.listener)
        log.addHandler(failures)
        log.propagate, propagated = False, log.propagate
        try:
            with TemporaryDirectory() as folder:
                grid = resolve(Suite.parse(SUITE, "check"), plugins, "check")
                run(grid, plugins, Path(folder), executor=SerialExecutor())
                with Store(Path(folder)) as store:
                    rows = [_content(row) for row in store.rows("check", 1)]
        finally:
            log.removeHandler(failures)
            log.propagate = propagated
        mine = [f"{hook}: {error}" for plugin, hook, error in failures.reported if plugin == name]
        return Heard(mine, rows)


def _content(row: Row) -> Row:
    """A row without what differs between two runs."""
    row = replace(row, fit_cpu_seconds=None, fit_wall_seconds=None, fit_wait_seconds=None)
    return replace(row, provenance="", peak_memory_bytes=None, finished_at=None)


@requirement()
def its_hooks_exist(trial: ListenerTrial) -> None:
    """It implements an event of a run, with arguments that the event has, and no hook that does not exist."""
    require(not trial.problems, "; ".join(trial.problems))
    require(bool(trial.hooks), f"it implements none of {', '.join(EVENTS)} with @bfc_bench.hookimpl")


@requirement(its_hooks_exist)
def events_raise_nothing(trial: ListenerTrial) -> None:
    """A run with cells that are ok and cells that failed is heard without an exception."""
    failures = trial.heard(listening=True).failures
    require(not failures, "; ".join(failures))


@requirement(events_raise_nothing)
def results_stay_the_same(trial: ListenerTrial) -> None:
    """The rows in the store are those of a run without the listener."""
    require(
        trial.heard(listening=True).rows == trial.heard(listening=False).rows,
        "a run with the listener has other rows than one without it",
    )
