"""Strategies: which cells of a suite run next.

A strategy is an iterator of lists of cells, its rounds. When it is asked for a round, it sees the results of those
before. ``run``, ``plan``, ``submit`` and ``try`` ask the same strategies. Cells are those that any other run has at the
same n, so that one strategy continues what another has begun.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TypeAlias

from bfc_bench.plugins.manager import load_plugins
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.session import Session, run_cells
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite

Rounds: TypeAlias = Iterator[Sequence[Cell]]
"""A strategy."""


@contextmanager
def results(grid: Grid, options: RunOptions) -> Iterator[StoredSuite | None]:
    """The results of a suite in the store of a run, as its strategy sees them; None if there is no store yet."""
    directory, plugins = Path(options.store), options.plugins or load_plugins()
    if not (directory.is_file() or (directory / "results.sqlite").exists()):
        yield None
        return
    with Store(directory) as store:
        yield StoredSuite(store, plugins, grid.suite.name, grid.suite.version, model=grid.suite)


def run_rounds(grid: Grid, rounds: Rounds, options: RunOptions, until: float = inf) -> Iterator[Session]:
    """Run the rounds of a strategy, a session each, until one is interrupted or the time is over.

    No cell begins after ``until`` on the clock of ``time.monotonic``.
    """
    for cells in rounds:
        session = run_cells(grid, cells, options, until)
        yield session
        if session.interrupted or time.monotonic() > until:
            return
