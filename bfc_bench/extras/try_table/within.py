"""Runs a suite from small sizes to large ones, as far as a given time reaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from bfc_bench.api import grid_of
from bfc_bench.plugins import load_plugins
from bfc_bench.run.executor_selection import executor_of
from bfc_bench.run.session import Runner


def run_within(suite: Path, store: Path, seconds: float, say: Callable[[str], None]) -> list[int]:
    """Run the cells of a suite, one size after the other, smallest first; returns the sizes that the time left out.

    No cell begins after ``seconds``, except those of the smallest size, so that there is an answer. ``say`` is called
    with a line of text before each size. Raises ``KeyboardInterrupt`` if the user stopped the run.
    """
    end, plugins = time.monotonic() + seconds, load_plugins()
    grid = grid_of(suite, [f"budget.cell_seconds={max(seconds, 5):g}"], plugins, (), ())
    executor = executor_of(grid.suite, plugins, "serial", {})  # starting workers would take longer than these cells
    runner = Runner(grid, plugins, store, executor)
    sizes = sorted({cell.n for cell in grid.cells()})
    for position, n in enumerate(sizes):
        say(f"{n:,} rows ...")
        cells = [cell for cell in grid.cells() if cell.n == n]
        session = runner.run_cells(cells, until=end if position else math.inf)
        if session.interrupted:
            raise KeyboardInterrupt
        if session.not_begun:
            return sizes[position:]
    return []
