"""``python -m benchmarks.machines SUITE``: how long a suite would take on many machines, by the plan's cost model.

Times of cells come from the rows of ``--store``, where it has some of the learner, and from declared costs elsewhere.
Batches are handed out as an executor hands them out, in the order of the plan, to whichever worker is free.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
from collections.abc import Sequence
from pathlib import Path

from bfc_bench.plugins import load_plugins
from bfc_bench.run.plan import Plan, make_plan
from bfc_bench.run.resolve import resolve
from bfc_bench.run.session import plan_for
from bfc_bench.store.store import Store
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import read_suite

START_SECONDS = 3.0
"""CPU time of a new worker before its first fit: interpreter, libraries, and programs compiled or loaded."""
COMMIT_SECONDS = 2.5e-4
"""CPU time of the session for a row: to receive it, store it and tell the plugins (``benchmarks.overhead``)."""
COLUMNS = ("machines", "workers", "batches", "wall", "ideal", "busy", "longest batch", "rows a second", "MB sent")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row per number of machines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machines", description=__doc__)
    parser.add_argument("suite", metavar="SUITE")
    parser.add_argument("--store", metavar="DIR", type=Path, help="rows to learn costs from")
    parser.add_argument("--machines", metavar="COUNT", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--cores", type=int, default=16, help="workers per machine; 16 by default")
    parser.add_argument("--replicates", type=int, help="instead of the suite's")
    options = parser.parse_args(arguments)
    plugins = load_plugins()
    path = suite_path(options.suite, plugins.suites)
    changes = [] if options.replicates is None else [f"replicates={options.replicates}"]
    grid = resolve(read_suite(path, changes), plugins, str(path))
    plan = plan_for(grid, None, "cpu")
    if options.store:
        with Store(options.store) as store:
            plan = make_plan(grid, plan.common, {}, store.rows(grid.suite.name, grid.suite.version))
    total = sum(plan.seconds.values())
    print(
        f"{grid.suite.name}@{grid.suite.version}: {len(plan.todo)} cells, {total:.0f} CPU seconds of fits, "
        f"largest cell {plan.peak_bytes / 1e9:.2f} GB\n"
    )
    for row in (COLUMNS, ["---:"] * len(COLUMNS), *(_row(plan, n, options.cores) for n in options.machines)):
        print(f"| {' | '.join(map(str, row))} |")
    return 0


def _row(plan: Plan, machines: int, cores: int) -> list[str]:
    workers = machines * cores
    batches = plan.batches(workers)
    seconds = [batch.seconds for batch in batches]
    end = max(wall(seconds, workers), len(plan.todo) * COMMIT_SECONDS)
    ideal = sum(seconds) / workers
    sent = sum(len(pickle.dumps(batch.batch)) for batch in batches) / 1e6
    return [
        *(str(machines), str(workers), str(len(batches)), f"{end:.1f} s", f"{ideal:.1f} s"),
        *(f"{ideal / end:.0%}", f"{max(seconds):.1f} s", f"{len(plan.todo) / end:.0f}", f"{sent:.1f}"),
    ]


def wall(seconds: Sequence[float], workers: int) -> float:
    """The time until the last of these batches has ended."""
    free = [START_SECONDS] * workers
    for batch in seconds:
        heapq.heapreplace(free, free[0] + batch)
    return max(free)


if __name__ == "__main__":
    raise SystemExit(main())
