"""The strategy that runs the sizes that locate N* of every replicate."""

from collections.abc import Callable, Iterable, Iterator

from bfc_bench.analysis.curves import Curve, by_task, curves, metric_of
from bfc_bench.analysis.locating import Ladder, sizes_to_run
from bfc_bench.analysis.thresholds import threshold
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.strategies.rounds import Rounds, results
from bfc_bench.utils.counted import counted


def locating(grid: Grid, options: RunOptions, tell: Callable[[str], None]) -> Rounds:
    """Instead of the sizes of a grid, those that locate N* of every replicate (``analysis.locating``).

    All learners and replicates take part in each round, so that ensembles stay ensembles.
    """
    locate = grid.suite.locate
    assert locate is not None, "strategy_of asks"
    levels, ladders = locate.levels or grid.suite.levels, _ladders(grid)
    yield _first_cells(grid, options, ladders)
    while cells := [
        grid.cell(*_place(curve), n, replicate)
        for curve in _measured(grid, options, ladders)
        for replicate, sizes in sizes_to_run(curve, levels, locate.factor, ladders[_place(curve)]).items()
        for n in sorted(sizes)
    ]:
        yield cells
    for curve in _measured(grid, options, ladders):
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


def _first_cells(grid: Grid, options: RunOptions, ladders: dict[tuple[str, str, int], Ladder]) -> list[Cell]:
    """The first cells of all replicates, and those of earlier runs with sizes of the ladders."""
    with results(grid, options) as stored:
        stored_cells = stored.store.known_cells(stored.name, stored.version) if stored else {}
    return [
        cell
        for place, ladder in ladders.items()
        for n in ladder.fine
        for replicate in range(grid.suite.replicates)
        for cell in [grid.cell(*place, n, replicate)]
        if n in ladder.upward[:2] or cell.id in stored_cells
    ]


def _measured(grid: Grid, options: RunOptions, ladders: Iterable[tuple[str, str, int]]) -> Iterator[Curve]:
    """What was measured so far of the replicates of the suite."""
    with results(grid, options) as stored:
        rows = stored.columns() if stored else None
    if rows is not None:
        for of_task in by_task(rows.at(rows.replicate < grid.suite.replicates)).values():
            yield from (curve for curve in curves(of_task, metric_of(of_task)) if _place(curve) in ladders)
