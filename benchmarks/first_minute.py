"""Wall time of a new user's first commands: a first fit, the suite ``smoke``, and the same commands again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.commands import command_cpu
from benchmarks.measurement import Measurement, Spread, timed
from benchmarks.whole_runs import SUITE

LIBRARIES = ("torch", "sklearn.linear_model", "mlflow")
LEARNERS = {"scikit-learn's Ridge": "sklearn:linear_model.Ridge", "kernel-ridge": "kernel-ridge"}


def measure(quick: bool) -> Iterator[Measurement]:
    """Runs into an empty store, with report and one worker per core, after one that wrote bytecode and caches."""
    repetitions = 1 if quick else 5
    for library in LIBRARIES:
        yield _line(f"import {library}, for comparison", [_wall("-c", f"import {library}") for _ in range(repetitions)])
    for name, learner in LEARNERS.items():
        text = SUITE.format(replicates=1, d=5, sizes=[100], learner=f'name = "{learner}"')
        first, again = _run(text, ["--no-mlflow"], repetitions)
        yield _line(f"one fit of {name}", first, goal=2)
        yield _line("the same command again", again, goal=0.6)
    if not quick:
        first, again = _run("smoke", [], 3)
        yield _line("smoke, with MLflow", first, goal=20)
        yield _line("the same command again", again, goal=0.6)


def _run(suite: str, options: list[str], repetitions: int) -> tuple[list[float], list[float]]:
    """Wall seconds to run a suite (its name or text) into an empty store, and to repeat the command."""
    first, again = [], []
    for _ in range(repetitions + 1):
        with TemporaryDirectory() as folder:
            name = suite
            if "\n" in suite:
                name = str(Path(folder, "first.toml"))
                Path(name).write_text(suite)
            command = ["-m", "bfc_bench", "run", name, "--store", str(Path(folder, "store")), *options]
            first.append(_wall(*command))
            again.append(median(_wall(*command) for _ in range(3)))
    return first[1:], again[1:]


def _wall(*arguments: str) -> float:
    return timed(lambda: command_cpu(*arguments), time.perf_counter)


def _line(what: str, seconds: list[float], goal: float | None = None) -> Measurement:
    return Measurement(f"{what}, wall time", "s", Spread.of(seconds), len(seconds), goal=goal)
