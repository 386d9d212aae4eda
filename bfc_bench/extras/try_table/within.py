"""Runs a suite from small sizes to large ones, as far as a given CPU time reaches."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.options import RunOptions
from bfc_bench.strategies.api import grid_of
from bfc_bench.strategies.rounds import Rounds, run_rounds

LEAST_SIZES = 3
"""So many sizes run whatever they take: one or two do not tell how the error falls."""


def run_within(
    suite: Path, store: Path, seconds: float, say: Callable[[str], None], listeners: Sequence[object] = ()
) -> list[int]:
    """Run the cells of a suite, one size after the other, smallest first; returns the sizes that the time left out.

    A size begins if at least twice the time of the last one is left, and is then run to its end. Time is CPU time of
    this process with one thread, so that a busy machine gets as far as an idle one. ``say`` is called with a line of
    text before each size. Raises ``KeyboardInterrupt`` if the user stopped the run.
    """
    plugins = load_plugins()
    grid = grid_of(suite, [f"budget.cell_seconds={max(seconds, 5):g}"], plugins, (), ())
    # Workers would take longer to start.
    options = RunOptions(store=store, executor="serial", plugins=plugins, listeners=listeners)
    sizes = sorted({cell.n for cell in grid.cells()})
    done = 0

    def smallest_first() -> Rounds:
        nonlocal done
        spent = took = 0.0
        while done < len(sizes) and (done < LEAST_SIZES or spent + 2 * took < seconds):
            say(f"{sizes[done]:,} rows ...")
            began = time.process_time()
            yield [cell for cell in grid.cells() if cell.n == sizes[done]]
            took = time.process_time() - began
            spent += took if done else 0.0  # the first size imports the learners
            done += 1

    with threadpool_limits(1):
        for session in run_rounds(grid, smallest_first(), options):
            if session.interrupted:
                raise KeyboardInterrupt
    return sizes[done:]
