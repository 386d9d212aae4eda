"""The functions that run a suite, which ``import bfc_bench`` offers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bfc_bench.errors import UsageError
from bfc_bench.plugins.manager import Plugins, load_plugins
from bfc_bench.run.options import RunOptions
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Locate, Suite
from bfc_bench.suite.read import read_suite

if TYPE_CHECKING:
    from bfc_bench.run.grid import Grid
    from bfc_bench.run.session import Session
    from bfc_bench.strategies.until_decided import Decided


def run_suite(suite: str | Path | Suite, options: RunOptions = RunOptions()) -> Session:
    """Run the cells of a suite that have no row, and return the finished session.

    ``open_store`` reads the results; ``bfc-bench sync`` logs them to MLflow.

    Args:
        suite: Name or path of a suite, or a ``Suite``.
        options: What to run and how.

    Raises:
        UsageError: The suite or an option is wrong, for example an unknown name.
        StoreError: The store cannot be written.
    """
    (session,) = run_as_asked(suite, options, _without_locate)
    return session


def run_until_decided(
    suite: str | Path | Suite,
    options: RunOptions = RunOptions(),
    *,
    hours: float | None = None,
    last: float = math.inf,
    tell: Callable[[str], None] = lambda text: None,
) -> Decided:
    """Run a suite, then add replicates, and sizes where N* lies beyond those tested, to its undecided claims.

    Claims are judged at growing numbers of replicates (looks), with significance levels that hold for all looks
    together: those of the suite's ``looks``, else from its replicates to ``last``, or to 20. Looks follow from the
    rows, so the same call continues an interrupted one. ``Decided.ended`` gives the outcome of each claim and the
    reason.

    Args:
        suite: Name or path of a suite, or a ``Suite``.
        options: What to run and how.
        hours: Time in hours after which no cell starts; None for no limit.
        last: No look has more replicates.
        tell: Called with a line of text at each look.

    Raises:
        UsageError: As in ``run_suite``, or ``hours`` is not positive, or ``last`` is below 3.
        StoreError: The store cannot be written.
    """
    from bfc_bench.strategies.rounds import run_rounds
    from bfc_bench.strategies.until_decided import Decided, UntilDecided

    grid, options = _prepared(suite, options)
    _without_locate(grid)
    if hours is not None and not hours > 0:
        raise UsageError(f"--hours must be positive. Got {hours:g}.")
    until = math.inf if hours is None else time.monotonic() + 3600 * hours
    strategy = UntilDecided(grid, options, last, tell)
    done = Decided()
    try:
        for session in run_rounds(strategy.grid, strategy.rounds(), options, until):
            done.sessions.append(session)
    except KeyboardInterrupt:
        if not done.sessions:
            raise
        done.sessions[-1].interrupted = True
    if done.sessions:
        done.ended = strategy.ended("interrupted" if done.sessions[-1].interrupted else "the hours are over")
    return done


def run_locating(
    suite: str | Path | Suite,
    options: RunOptions = RunOptions(),
    *,
    factor: float | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Session]:
    """Run the sizes that locate N* of each replicate within a factor, and return the finished sessions.

    They lie between the smallest and the largest size of the suite: upward by factors of 2 until two neighbouring
    sizes are at most each level, then inside the step in which the error falls. The same call continues an interrupted
    one.

    Args:
        suite: Name or path of a suite, or a ``Suite``.
        options: What to run and how.
        factor: Largest ratio of the sizes between which N* lies, from 1.1 to 2; by default that of the suite, else 1.1.
        tell: Called with a line of text for each curve that rises above a level again.

    Raises:
        UsageError: As in ``run_suite``, or ``factor`` is out of range.
        StoreError: The store cannot be written.
    """
    return run_as_asked(
        suite, options, lambda grid: located(grid, factor or (grid.suite.locate or Locate()).factor), tell
    )


def run_as_asked(
    suite: str | Path | Suite,
    options: RunOptions,
    change: Callable[[Grid], Grid],
    tell: Callable[[str], None] = lambda text: None,
) -> list[Session]:
    """Run a suite by its own strategy (``strategies.strategy_of``), after ``change`` of its grid."""
    from bfc_bench.strategies.rounds import run_rounds
    from bfc_bench.strategies.strategy import strategy_of

    grid, options = _prepared(suite, options)
    grid = change(grid)
    return list(run_rounds(grid, strategy_of(grid, options, tell), options))


def _prepared(suite: str | Path | Suite, options: RunOptions) -> tuple[Grid, RunOptions]:
    """The grid of a run, and the options with the plugins that it was made with."""
    if not isinstance(options, RunOptions):
        raise UsageError(f"options must be RunOptions(...). Got {type(options).__name__}.")
    plugins = options.plugins or load_plugins()
    grid = grid_of(suite, options.changes, plugins, options.learners, options.tasks)
    return grid, replace(options, plugins=plugins)


def _without_locate(grid: Grid) -> Grid:
    if grid.suite.locate:
        raise UsageError("the suite has locate: leave out --until-decided; in Python, use run_locating.")
    return grid


def located(grid: Grid, factor: float | None) -> Grid:
    """The grid of a suite that asks for the sizes that locate N* within a factor; unchanged for None."""
    if factor is None:
        return grid
    locate = Locate.parse({**(grid.suite.locate or Locate()).model_dump(), "factor": factor}, "locate")
    return replace(grid, suite=grid.suite.model_copy(update={"locate": locate}))


def grid_of(
    suite: str | Path | Suite, changes: Sequence[str], plugins: Plugins, learners: Sequence[str], tasks: Sequence[str]
) -> Grid:
    """The cells of a suite, or of some of its learners and tasks."""
    from bfc_bench.run.grid import make_grid

    if isinstance(suite, Suite):
        return make_grid(suite, plugins, "suite", learners, tasks)
    if not isinstance(suite, str | Path):
        raise UsageError(f"a suite must be a name, a path or a bfc_bench.Suite. Got {type(suite).__name__}.")
    path = suite_path(suite, plugins.suites)
    return make_grid(read_suite(path, changes, learners), plugins, str(path), learners, tasks)
