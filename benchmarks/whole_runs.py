"""Whole runs of ``bfc-bench run``, with start, compiling, tuning and report, against plain scripts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import plain_kernels
from benchmarks.commands import command_cpu
from benchmarks.measurement import Measurement, children_cpu, interleave
from benchmarks.networks import MEDIUM, SMALL, Size

HERE = Path(__file__).parent
SUITE = """name = "whole"
replicates = {replicates}
test_size = 1000
[[task]]
name = "t"
inputs = {{ kind = "uniform" }}
target = {{ kind = "quadratic-densenet", widths = [4, 2], alphas = [1.0, 0.3] }}
d = [{d}]
n = {sizes}
[[learner]]
{learner}
"""


def measure(quick: bool) -> Iterator[Measurement]:
    """A tuned kernel curve, and 32 seeds of training at M and S, with one worker."""
    pairs = 1 if quick else 3
    largest, seeds = (200, 1) if quick else (4000, 3)
    what = f"RBF ridge curve to n = {largest}, {len(plain_kernels.SHARES)} sizes, 10 ridges, {seeds} seeds"
    suite = _kernels(largest, seeds)
    yield _against(what, suite, "plain_kernels.py", (largest, seeds), "scikit-learn, fit by fit", pairs, 2.5)
    for size, full, goal in ((MEDIUM, 500, 2.0), (SMALL, 3000, 6.0)):
        seeds, steps = (2, 100) if quick else (32, full)
        suite = networks_suite(size, steps, seeds)
        numbers = (size.d, size.width, size.depth, size.batch_size, steps, seeds)
        what = f"{size.name}, {seeds} seeds x {steps} steps"
        yield _against(what, suite, "plain_networks.py", numbers, "PyTorch, seed by seed", pairs, goal)


def networks_suite(size: Size, steps: int, seeds: int) -> str:
    """The text of a suite file that trains networks."""
    options = f'widths = {[size.width] * size.depth}, batch_size = {size.batch_size}, steps = {steps}, ranks = "given"'
    learner = f'name = "quad-densenet"\noptions = {{ {options} }}'
    return SUITE.format(replicates=seeds, d=size.d, sizes=[size.points], learner=learner)


def _kernels(largest: int, seeds: int) -> str:
    sizes = [int(share * largest) for share in plain_kernels.SHARES]
    learner = f'name = "kernel-ridge"\noptions = {{ with_squares = false }}\ntune.ridge = {plain_kernels.RIDGES}'
    return SUITE.format(replicates=seeds, d=plain_kernels.D, sizes=sizes, learner=learner)


def _against(
    what: str, suite: str, script: str, numbers: tuple[int | None, ...], opponent: str, pairs: int, goal: float
) -> Measurement:
    """CPU seconds of a run and of the script, including child processes."""

    def theirs() -> float:
        return command_cpu(str(HERE / script), *map(str, numbers))

    times = interleave(lambda: _run(suite), theirs, pairs, clock=children_cpu, warm=False)
    return times.measurement(what, opponent, "s", goal=goal)


def _run(suite: str) -> None:
    """Run a suite into an empty store, with an empty cache of compiled programs."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "whole.toml")
        path.write_text(suite)
        command = ["-m", "bfc_bench", "run", str(path), "--store", str(Path(folder, "store")), "--jobs", "1"]
        command_cpu(*command, "--no-mlflow", environment={**os.environ, "JAX_COMPILATION_CACHE_DIR": folder})
