"""``python -m benchmarks.simulated [SUITE]``: compares a simulated run with a real one of shards on this machine.

A first run gives the rows from which times are estimated. Then ``submit --local`` runs further replicates as shards,
and its wall time is compared with two simulations: one with exact estimates, the longest batch first, warm caches and
CPU time as wall time, and one with times as they differ in the rows of the first run, batches as shards form them, cold
caches, and the measured start of a shard.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import machine
from benchmarks.cluster import Costs, Shape, simulate
from benchmarks.cluster_costs import start
from benchmarks.cluster_units import Surprise, actual_seconds, exact_units, shard_units
from benchmarks.measurement import children_cpu
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import resolve
from bfc_bench.run.session import plan_for
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import read_suite

SEEDS = 20


def main(arguments: list[str] | None = None) -> int:
    """Run, simulate, and print both."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulated", description=__doc__)
    parser.add_argument("suite", metavar="SUITE", nargs="?", default="smoke")
    parser.add_argument("--before", type=int, default=3, help="replicates of the first run; 3 by default")
    parser.add_argument("--replicates", type=int, default=20, help="replicates in all; 20 by default")
    parser.add_argument("--shards", type=int, default=os.cpu_count() or 1, help="one per core by default")
    options = parser.parse_args(arguments)
    plugins = load_plugins()
    path, before = suite_path(options.suite, plugins.suites), machine.load()
    with TemporaryDirectory() as folder:
        directory = Path(folder, "store")
        more = ["--set", f"replicates={options.replicates}", "--store", str(directory)]
        shards = ["submit", options.suite, *more, "--local", "--shards", str(options.shards)]
        spent = children_cpu()
        _bench("run", options.suite, "--set", f"replicates={options.before}", *more[2:], "--no-mlflow")
        spent = children_cpu() - spent
        grid = resolve(read_suite(path, [more[1]]), plugins, str(path))
        with Store(directory) as store:
            plan = plan_for(grid, store, "cpu")
            rows = Rows.of(store.columns(grid.suite.name, grid.suite.version))
            surprise = Surprise.of(rows)
        libraries = start()
        fits = float(np.nansum(rows.number("fit_cpu_seconds")))
        surprise = replace(surprise, beside=max(0.0, spent - fits - libraries) / len(rows))
        found = _bench(*shards)
        around = _bench(*shards)  # nothing is left to do: what the command itself takes
    shape = Shape(options.shards, 1, "slurm")
    exact = simulate(exact_units([plan], options.shards), Costs(), shape).makespan
    spans = []
    for seed in range(SEEDS):
        units, parts = shard_units(plan, options.shards, 1, actual_seconds(plan, surprise, seed))
        spans.append(
            around
            + simulate(units, Costs(start=surprise.stretch * libraries, cold=surprise.cold), shape, parts).makespan
        )
    total = sum(plan.seconds.values())
    print(f"{grid.suite.name}, {len(plan.todo)} cells in {options.shards} shards of one worker: {total:.1f} s of fits")
    print(
        f"Measured: a worker starts in {libraries:.1f} CPU s, the command takes {around:.1f} s, fits take "
        f"{surprise.stretch:.2f} times the seconds that they compute, a cell takes "
        f"{surprise.beside:.3f} CPU s outside its fit, the first cell of a learner takes "
        f"{surprise.cold:.2f} s longer, the logarithm of a cell's time over its estimate has the standard deviation "
        f"{surprise.sigma:.2f}."
    )
    print(f"Simulated, exact estimates, warm caches, CPU time as wall time: {exact:.1f} s")
    print(f"Simulated: {median(spans):.1f} s ({min(spans):.1f} to {max(spans):.1f} s for {SEEDS} seeds)")
    print(f"Real run: {found:.1f} s")
    facts = machine.describe()
    loads = " to ".join(f"{load:.1f}" for load in (before, machine.load()) if load is not None)
    print(f"{facts['processor']}, {facts['cores']} cores; Python {facts['python']}; load per core {loads}")
    return 0


def _bench(*arguments: str) -> float:
    """Wall seconds of a command of bfc-bench. Raises ``CalledProcessError`` if it fails."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "bfc_bench", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **machine.one_thread()})
    return time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())
