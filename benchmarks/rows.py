"""CPU time and memory of the verbs on stores with 10,000, 100,000, 200,000 and 1,000,000 rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measurement import Measurement, Spread
from bfc_bench.cli.results import SHOWN
from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import Cell, Grid, make_grid
from bfc_bench.seeds import stream
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
from bfc_bench.suite.read import read_suite

BATCH = 2000
"""Number of rows per transaction."""
STEPS = (100, 300, 1000)
"""Checkpoints of the networks; each is a stage of a row."""
LAYERS = ("S2", "S3")
RELEASE = version("bfc-bench")
MEASURE = """
import resource, sys
from bfc_bench.cli import app, main
def leave(code):
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"MEASURED {code} {used.ru_utime + used.ru_stime} {used.ru_maxrss}", file=sys.stderr)
app.leave = leave
main()
"""


@dataclass(frozen=True)
class Shape:
    """A suite of ``tasks`` x ``dims`` x 8 labels x ``sizes`` x ``replicates`` cells."""

    tasks: int
    dims: int
    sizes: int
    replicates: int

    @property
    def cells(self) -> int:
        """Number of cells, and so of rows."""
        return self.tasks * self.dims * self.sizes * self.replicates * len(LEARNERS)


LEARNERS = (
    f'name = "quad-densenet"\noptions = {{ ranks = "given", checkpoints = [{", ".join(map(str, STEPS))}] }}',
    'name = "layerwise"\nlabel = "layerwise-sum"\noptions = { readout = "sum" }',
    'name = "layerwise"\nlabel = "layerwise-signed"\noptions = { readout = "signed" }',
    'name = "kernel-ridge"\nlabel = "kernel-rbf"\noptions = { kernel = "rbf" }\ntune = { ridge = [1e-8, 1e-2, 1.0] }',
    'name = "kernel-ridge"\nlabel = "kernel-poly2"\noptions = { kernel = "poly" }\ntune = { ridge = [1e-8, 0.01, 1] }',
    'name = "kernel-ridge"\nlabel = "ntk-with-squares"\noptions = { kernel = "ntk", depth = 2 }',
    'name = "relu-mlp"',
    'name = "random-features"',
)
"""The first three are networks."""
SHAPES = {
    10_000: Shape(2, 3, 6, 35),
    100_000: Shape(6, 4, 8, 65),
    200_000: Shape(10, 8, 10, 31),
    1_000_000: Shape(10, 8, 10, 156),
}
"""Shapes of suites by their approximate number of rows."""

CLAIMS = """
[[claim]]
id = "joint-{i}"
kind = "beats"
task = "t{i}"
label = "quad-densenet"
against = ["layerwise-sum", "kernel-rbf"]
factor = 10

[[claim]]
id = "exponent-{i}"
kind = "exponent"
task = "t{i}"
label = "quad-densenet"
below = "kernel-rbf"

[[claim]]
id = "features-{i}"
kind = "beats"
task = "t{i}"
metric = "feature_errors.S2"
label = "quad-densenet"
against = "quad-densenet/step100"
"""


def measure(quick: bool) -> Iterator[Measurement]:
    """Each verb in its own process: CPU seconds, peak memory, and the size of the report."""
    for rows, shape in SHAPES.items():
        if rows == 10_000 or not quick:
            with TemporaryDirectory() as folder:
                yield from _measured(shape, Path(folder), sync=rows == 10_000)


def _measured(shape: Shape, folder: Path, *, sync: bool) -> Iterator[Measurement]:
    file, store = make_store(shape, folder)
    goals = {"results": 5.0, "report": 15.0} if shape.cells <= 200_000 else {}
    for verb in ("results", "claims", "plan", "report", *(("sync", "sync") if sync else ())):
        again = verb == "sync" and (store / "mlflow.db").exists()
        options = ("--first", str(SHOWN)) if verb == "results" else ()  # what a terminal shows
        seconds, peak = verb_cost(verb, str(file), "--store", str(store), *options)
        what = f"{shape.cells:,} rows: {verb}{' again' * again}"
        yield Measurement(what, "s", _one(seconds), 1, goal=goals.get(verb), note=f"peak {peak / 1e6:,.0f} MB")
        if verb == "report":
            page = (store / "reports" / "rows@1" / "report.html").stat().st_size / 1e6
            yield Measurement(f"{shape.cells:,} rows: the page", "MB", _one(page), 1, goal=3 if goals else None)


def _one(value: float) -> Spread:
    return Spread(value, value, value)


def verb_cost(*arguments: str) -> tuple[float, float]:
    """CPU seconds and peak bytes of ``bfc-bench ARGUMENTS``. Raises ``RuntimeError`` if it fails."""
    ran = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    numbers = ran.stderr.rpartition("MEASURED ")[2].split()
    if ran.returncode or len(numbers) != 3 or numbers[0] != "0":
        raise RuntimeError(f"bfc-bench {' '.join(arguments)} failed: {ran.stderr[-2000:]}")
    return float(numbers[1]), 1024 * float(numbers[2])


def make_store(shape: Shape, folder: Path) -> tuple[Path, Path]:
    """The suite file of a shape, and a store with a row for each of its cells."""
    file, directory = folder / "rows.toml", folder / "store"
    file.write_text(_toml(shape))
    grid = make_grid(read_suite(file), load_plugins(), str(file))
    suite = grid.suite
    with Store(directory, write=True) as store:
        store.begin_session("benchmarks", suite.name, suite.version, suite.definition(), {})
        store.define(suite.name, suite.version, grid.task_digests, grid.learner_digests)
        cells = list(grid.cells())
        for start in range(0, len(cells), BATCH):
            rng = stream("synthetic rows", start)
            store.put(
                (synthetic_row(cell, grid, rng), grid.task_digests[cell.task], grid.learner_digests[cell.label], "")
                for cell in cells[start : start + BATCH]
            )
        store.end_session("benchmarks")
    return file, directory


def _toml(shape: Shape) -> str:
    dims = [5 * (i + 2) for i in range(shape.dims)]
    sizes = [round(100 * 1.6**i) for i in range(shape.sizes)]
    tasks = "".join(
        f'[[task]]\nname = "t{i}"\ninputs = {{ kind = "uniform" }}\n'
        f'target = {{ kind = "quadratic-densenet", widths = [4, 2], alphas = [1.0, {0.1 * (i + 1):g}] }}\n'
        f"d = {dims}\nn = {sizes}\n"
        for i in range(shape.tasks)
    )
    learners = "".join(f"[[learner]]\n{learner}\n" for learner in LEARNERS)
    claims = "".join(CLAIMS.format(i=i) for i in range(shape.tasks))
    return f'name = "rows"\nreplicates = {shape.replicates}\n{tasks}{learners}{claims}'


def synthetic_row(cell: Cell, grid: Grid, rng: np.random.Generator) -> Row:
    """A plausible row: the error falls with n, and one cell in fifty is not ok."""
    entry = grid.entries[cell.label]
    rank = list(grid.entries).index(cell.label)
    fields: dict[str, Any] = {
        "cell": cell.id,
        "suite": grid.suite.name,
        "suite_version": grid.suite.version,
        "task": cell.task,
        "learner": entry.learner.name,
        "label": cell.label,
        "options": entry.learner.options(),
        "d": cell.d,
        "n": cell.n,
        "replicate": cell.replicate,
        "device": "cpu",
        "release": RELEASE,
        "learner_version": entry.learner.version,
        "provenance": "benchmarks",
        "finished_at": 1.7e9 + cell.n,
    }
    if rng.random() < 0.02:
        status = str(rng.choice(["failed", "timeout", "diverged"]))
        return Row(**fields, status=status, reason=f"synthetic: {status}")  # type: ignore[arg-type]
    nmse = float((1 + rank) * (2 * cell.d / cell.n) ** (2 - 0.2 * rank) * np.exp(0.4 * rng.standard_normal()))
    network = rank < 3
    features = {layer: nmse * (1 + rng.random()) for layer in LAYERS} if network else {}
    measured = {
        "uncut_errors": features,
        "span_errors": features,
        "cka": {layer: 1 / (1 + e) for layer, e in features.items()},
    }
    tuned = {"ridge": [1e-8, 1e-2, 1.0][int(rng.integers(3))]} if entry.tuned else {}
    return Row(
        **fields,
        status="ok",
        nmse=nmse,
        nmse_trimmed=0.9 * nmse,
        train_nmse=0.5 * nmse,
        feature_errors=features,
        part_errors={f"degree{k}": 0.1 * k * nmse for k in (2, 4)} if cell.task == "t0" else {},
        stages={
            f"step{step}": {
                "nmse": nmse * 1000 / step,
                "nmse_trimmed": 900 * nmse / step,
                "feature_errors": {layer: error * 1000 / step for layer, error in features.items()},
                **measured,
            }
            for step in (STEPS if rank == 0 else ())
        },
        chosen={"candidates": 3 if tuned else 1, "info": {"final_loss": nmse, "oracle": []}}
        | ({"tuned": tuned, "validation_error": nmse} if tuned else {})
        | ({"measured": measured} if network else {}),
        fit_cpu_seconds=1e-4 * cell.n * (1 + rng.random()),
        fit_wall_seconds=1e-4 * cell.n,
        trained_together=10,
        peak_memory_bytes=10_000_000 + 1000 * cell.n,
        dtype="float64",
        seed=int(rng.integers(2**31)),
    )
