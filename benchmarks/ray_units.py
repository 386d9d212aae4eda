"""``python -m benchmarks.ray_units``: measures the cost of an empty unit on Ray and on processes, with one worker each.

It is a separate program because it starts a Ray cluster on this machine, whose ports are open to the network.
"""

from __future__ import annotations

import time
from statistics import median

from benchmarks import machine
from benchmarks.measurement import own_cpu
from bfc_bench.executors.base import Executor, Pool, Resources
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.executors.ray import RayExecutor
from bfc_bench.testing.executor_units import do

UNITS, REPETITIONS = 1000, 5


def main() -> None:
    """Print median, minimum and maximum of the wall time per unit in milliseconds.

    Also print the CPU time of this process per unit, which limits a session with many workers.
    """
    executors: tuple[Executor, ...] = (ProcessExecutor(), RayExecutor())
    for executor in executors:
        started = time.perf_counter()
        pool = executor.open(do, jobs=1)
        try:
            _units(pool, 10)
            start = time.perf_counter() - started
            cpu = own_cpu()
            times = [1e3 * _units(pool, UNITS) / UNITS for _ in range(REPETITIONS)]
            own = 1e3 * (own_cpu() - cpu) / (REPETITIONS * UNITS)
        finally:
            pool.close()
        figures = f"{median(times):.2f} [{min(times):.2f}, {max(times):.2f}] ms/unit, {own:.2f} ms CPU here"
        print(f"{executor.name}: {figures}, start {start:.1f} s, load per core {machine.load():.1f}", flush=True)


def _units(pool: Pool, count: int) -> float:
    """Wall seconds for ``count`` units."""
    started = time.perf_counter()
    for key in range(count):
        pool.submit(key, ("give", b"x"), Resources(60.0))
    assert sum(1 for _ in pool.outcomes()) == count
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
