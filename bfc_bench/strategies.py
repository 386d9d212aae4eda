"""Strategies: which cells of a suite run next.

A strategy is an iterator of lists of cells, its rounds. When it is asked for a round, it sees the results of those
before. ``run``, ``plan``, ``submit`` and ``try`` ask the same strategies. Cells are those that any other run has at the
same n, so that one strategy continues what another has begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TypeAlias

from bfc_bench.analysis.curves import Curve, by_task, curves, metric_of
from bfc_bench.analysis.locating import Ladder, sizes_to_run
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.session import Session, run_cells
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.utils.counted import counted

Rounds: TypeAlias = Iterator[Sequence[Cell]]
"""A strategy."""
See: TypeAlias = Callable[[], AbstractContextManager[StoredSuite | None]]
"""Opens the results of a suite so far; None if there is no store yet."""


@contextmanager
def results(grid: Grid, options: RunOptions) -> Iterator[StoredSuite | None]:
    """The results of a suite in the store of a run, as its strategy sees them; None if there is no store yet."""
    directory, plugins = Path(options.store), options.plugins or load_plugins()
    if not (directory.is_file() or (directory / "results.sqlite").exists()):
        yield None
        return
    with Store(directory) as store:
        yield StoredSuite(store, plugins, grid.suite.name, grid.suite.version, model=grid.suite)


def strategy_of(grid: Grid, see: See, tell: Callable[[str], None] = lambda text: None) -> Rounds:
    """The strategy that a suite asks for: the sizes that locate N*, else all cells at once.

    ``tell`` is called with what there is to say of a curve.
    """
    return locating(grid, see, tell) if grid.suite.locate else iter([tuple(grid.cells())])


def run_rounds(grid: Grid, rounds: Rounds, options: RunOptions, until: float = inf) -> Iterator[Session]:
    """Run the rounds of a strategy, a session each, until one is interrupted or the time is over.

    The first round runs those cells again that ``options.redo`` names. No cell begins after ``until`` on the clock of
    ``time.monotonic``.
    """
    for cells in rounds:
        if time.monotonic() > until:
            return
        session = run_cells(replace(grid, only=tuple(cells)), options, until)
        yield session
        if session.interrupted or session.not_begun:
            return
        options = replace(options, redo=())


def locating(grid: Grid, see: See, tell: Callable[[str], None]) -> Rounds:
    """Instead of the sizes of a grid, those that locate N* of every replicate (``analysis.locating``).

    All learners and replicates take part in each round, so that ensembles stay ensembles.
    """
    locate = grid.suite.locate
    assert locate is not None, "strategy_of asks"
    levels, ladders = locate.levels or grid.suite.levels, _ladders(grid)
    yield _first_cells(grid, see, ladders)
    while cells := [
        grid.cell(*_place(curve), n, replicate)
        for curve in _measured(grid, see, ladders)
        for replicate, sizes in sizes_to_run(curve, levels, locate.factor, ladders[_place(curve)]).items()
        for n in sorted(sizes)
    ]:
        yield cells
    for curve in _measured(grid, see, ladders):
        for level in levels:
            if count := threshold(curve, level).ill_behaved:
                place = f"{curve.label} on {curve.task}, d = {curve.d}"
                tell(
                    f"{place}: {counted(count, 'replicate')} above {level:g} again at larger n; the first crossing is "
                    "N*."
                )
    tell("Sizes go up only until N* is reached: if an error rises above the level beyond them, it is not seen.")


def _place(curve: Curve) -> tuple[str, str, int]:
    return curve.task, curve.label, curve.d


def _ladders(grid: Grid) -> dict[tuple[str, str, int], Ladder]:
    """The sizes to choose from, by task, label and d of a curve."""
    sizes: dict[tuple[str, str, int], list[int]] = {}
    for task, label, d, n in grid.points():
        sizes.setdefault((task, label, d), []).append(n)
    return {place: Ladder(own[0], own[-1], own) for place, own in sizes.items()}


def _first_cells(grid: Grid, see: See, ladders: dict[tuple[str, str, int], Ladder]) -> list[Cell]:
    """The first cells of all replicates, and those of earlier runs with sizes of the ladders."""
    with see() as stored:
        stored_cells = stored.store.known_cells(stored.name, stored.version) if stored else {}
    return [
        cell
        for place, ladder in ladders.items()
        for n in ladder.fine
        for replicate in range(grid.suite.replicates)
        for cell in [grid.cell(*place, n, replicate)]
        if n in ladder.upward[:2] or cell.id in stored_cells
    ]


def _measured(grid: Grid, see: See, ladders: Iterable[tuple[str, str, int]]) -> Iterator[Curve]:
    """What was measured so far of the replicates of the suite."""
    with see() as stored:
        rows = stored.columns() if stored else None
    if rows is not None:
        for of_task in by_task(rows.at(rows.replicate < grid.suite.replicates)).values():
            yield from (curve for curve in curves(of_task, metric_of(of_task)) if _place(curve) in ladders)
