"""Runs a suite from small sizes to large ones, as far as a given time reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path

from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.options import RunOptions
from bfc_bench.strategies.api import grid_of
from bfc_bench.strategies.rounds import Rounds, run_rounds


def run_within(suite: Path, store: Path, seconds: float, say: Callable[[str], None]) -> list[int]:
    """Run the cells of a suite, one size after the other, smallest first; returns the sizes that the time left out.

    No cell begins after ``seconds``, except those of the smallest size, so that there is an answer. ``say`` is called
    with a line of text before each size. Raises ``KeyboardInterrupt`` if the user stopped the run.
    """
    end, plugins = time.monotonic() + seconds, load_plugins()
    grid = grid_of(suite, [f"budget.cell_seconds={max(seconds, 5):g}"], plugins, (), ())
    options = RunOptions(store=store, executor="serial", plugins=plugins)  # workers would take longer to start
    remaining = sorted({cell.n for cell in grid.cells()})

    def smallest_first() -> Rounds:
        while remaining:
            say(f"{remaining[0]:,} rows ...")
            yield [cell for cell in grid.cells() if cell.n == remaining[0]]
            del remaining[0]

    rounds = smallest_first()
    for session in chain(run_rounds(grid, islice(rounds, 1), options), run_rounds(grid, rounds, options, end)):
        if session.interrupted:
            raise KeyboardInterrupt
    return remaining
