"""Runs a suite from small sizes to large ones, as far as a given time reaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bfc_bench.executors.base import Executor
from bfc_bench.plugins import Plugins
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.session import Session, run

GROWTH = 2.5
"""A round is expected to take so many times as long as the one before, when sizes double."""


@dataclass
class Progress:
    """What was run."""

    sizes: list[int] = field(default_factory=list)
    """Sizes whose cells were run."""
    left: list[int] = field(default_factory=list)
    """Sizes that the time did not allow."""
    failed: int = 0
    """Number of cells that are not ok or skipped."""
    interrupted: bool = False


def run_within(
    grid: Grid,
    plugins: Plugins,
    store: Path,
    *,
    seconds: float,
    executor: Executor,
    jobs: int | None = None,
    listeners: Iterable[object] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Progress:
    """Run the cells of a grid, one size after the other, smallest first.

    A size begins only if it is expected to end in time; the smallest is always run, so that there is an answer. Cells
    that the store has are not run again, so a later run of the suite continues.

    Args:
        grid: The cells.
        plugins: Registered plugins.
        store: Folder of the store.
        seconds: Wall time that all sizes may take.
        executor: Where cells run.
        jobs: Number of workers; by default the executor chooses.
        listeners: Plugin objects that are notified of the rows.
        tell: Called with a line of text before each size.
    """
    cells: dict[int, list[Cell]] = {}
    for cell in grid.cells():
        cells.setdefault(cell.n, []).append(cell)
    progress, start = Progress(), time.monotonic()
    sizes, last = sorted(cells), 0.0
    for position, n in enumerate(sizes):
        begun = time.monotonic()
        if position and begun + GROWTH * last > start + seconds:
            progress.left = sizes[position:]
            break
        tell(f"{n:,} rows ...")
        session: Session = run(
            replace(grid, only=tuple(cells[n])),
            plugins,
            store,
            executor=executor,
            jobs=jobs,
            listeners=list(listeners),
            until=start + seconds if position else math.inf,
        )
        progress.failed += sum(count for status, count in session.statuses.items() if status not in ("ok", "skipped"))
        last = time.monotonic() - begun
        if session.interrupted or session.not_begun:
            progress.interrupted, progress.left = session.interrupted, sizes[position:]
            break
        progress.sizes.append(n)
    return progress
