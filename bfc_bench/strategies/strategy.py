"""The strategy that a suite or a command asks for, and the plan of its next round."""

from collections.abc import Callable

from bfc_bench.executors.base import Executor
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.plan import Plan, plan_for
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.strategies.locating import locating
from bfc_bench.strategies.rounds import Rounds
from bfc_bench.strategies.until_decided import UntilDecided
from bfc_bench.toolkit.precision import Device


def strategy_of(grid: Grid, options: RunOptions, tell: Callable[[str], None] = lambda text: None) -> Rounds:
    """The strategy that a suite asks for: the sizes that locate N*, else all cells at once.

    ``tell`` is called with what there is to say of a curve.
    """
    return locating(grid, options, tell) if grid.suite.locate else iter([tuple(grid.cells())])


def next_plan(
    grid: Grid, options: RunOptions, stored: StoredSuite | None, device: Device, executor: Executor | None = None,
    last: float | None = None,
) -> Plan:  # fmt: skip
    """The plan of the round that a run would compute next, together with the rounds that are done.

    With ``last`` it is a run until claims are decided, which makes no look at more replicates.
    """
    if last is None:
        rounds = strategy_of(grid, options)
    else:
        until_decided = UntilDecided(grid, options, last)
        grid, rounds = until_decided.grid, until_decided.rounds()
    cells, store = list[Cell](), stored.store if stored else None
    for following in rounds:
        cells += following
        plan = plan_for(grid, store, device, cells, redo=options.redo, executor=executor)
        if plan.todo or plan.to_skip:
            break
    return plan
