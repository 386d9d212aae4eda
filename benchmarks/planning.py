"""Time to plan a large grid, and to run a suite whose cells are all done."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.busy import busy_suite, busy_toml, installed
from benchmarks.commands import command_cpu
from benchmarks.measurement import Measurement, Spread, timed
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.grid import Grid, resolve
from bfc_bench.run.session import plan_for
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store


def measure(quick: bool) -> Iterator[Measurement]:
    """Plan and batch 100,000 cells; repeat a finished run of 10,000 cells, and of one cell for comparison."""
    repetitions = 1 if quick else 3
    labels = 1 if quick else 10
    with installed() as site:
        sys.path.insert(0, str(site))
        plugins = load_plugins()
        grid = resolve(busy_suite(labels, 100, 100), plugins, "busy")
        times = [timed(lambda: plan_for(grid, None, "cpu").batches(2)) for _ in range(repetitions)]
        yield Measurement(f"plan of {10_000 * labels} cells", "s", Spread.of(times), repetitions, goal=2)

        cells = 1000 if quick else 10_000
        with TemporaryDirectory() as folder:
            starts, totals, logged, tables = [], [], [], []
            few, many = (_done(Path(folder, str(n)), plugins, n) for n in (1, cells))
            for again in (few, many, few[:-1]):
                command_cpu(*again, environment=_path(site))  # the first one writes the report, or logs to MLflow
            for _ in range(repetitions):
                starts.append(command_cpu(*few, environment=_path(site)))
                totals.append(command_cpu(*many, environment=_path(site)))
                logged.append(command_cpu(*few[:-1], environment=_path(site)))
                table = [*many[:2], "results", *many[3:6]]
                tables.append(command_cpu(*table, environment=_path(site)))
    yield Measurement(
        f"results of {cells} cells as a table", "s", Spread.of(tables), repetitions, goal=0.5 + cells / 20_000
    )
    yield Measurement("run, all done, 1 cell: the start", "s", Spread.of(starts), repetitions, goal=0.4)
    yield Measurement("the same with MLflow", "s", Spread.of(logged), repetitions)
    costs = [1e3 * (total - start) / (cells - 1) for total, start in zip(totals, starts, strict=True)]
    yield Measurement(
        f"run, all done, {cells} cells: beyond the start", "ms/cell", Spread.of(costs), repetitions, goal=0.1
    )


def _path(site: Path) -> dict[str, str]:
    """Environment variables with which a command finds the plugin ``benchmarks.busy``."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}


def _done(folder: Path, plugins: Plugins, cells: int) -> list[str]:
    """Fill a store with a finished suite of ``cells`` cells, and return the command that runs it again."""
    folder.mkdir()
    shape = (1, max(1, cells // 100), min(cells, 100))
    file = folder / "busy.toml"
    file.write_text(busy_toml(*shape))
    _fill(folder / "store", resolve(busy_suite(*shape), plugins, "busy"))
    return ["-m", "bfc_bench", "run", str(file), "--store", str(folder / "store"), "--no-mlflow"]


def _fill(directory: Path, grid: Grid) -> None:
    """Write a store in which every cell of ``grid`` is done, without running it."""
    suite, store = grid.suite, Store(directory, write=True)
    store.sessions.begin("benchmarks", suite.name, suite.version, suite.definition(), {})
    store.sessions.define(suite.name, suite.version, grid.task_digests, grid.learner_digests)
    store.put(
        (
            Row(
                cell=cell.id,
                suite=suite.name,
                suite_version=suite.version,
                task=cell.task,
                learner=grid.entries[cell.label].learner.name,
                label=cell.label,
                options=grid.entries[cell.label].learner.options(),
                d=cell.d,
                n=cell.n,
                replicate=cell.replicate,
                status="ok",
                nmse=1.0 / cell.n,
                nmse_trimmed=1.0 / cell.n,
                fit_cpu_seconds=1e-3,
                device="cpu",
                release=version("bfc-bench"),
                finished_at=0.0,
            ),
            grid.task_digests[cell.task],
            grid.learner_digests[cell.label],
            "",
        )
        for cell in grid.cells()
    )
    store.sessions.end("benchmarks")
    store.close()
