"""The functions for Python users, which ``import bfc_bench`` offers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args

from bfc_bench.errors import UsageError
from bfc_bench.learner import Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.store import DEFAULT_STORE, Redo
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Locate, Suite
from bfc_bench.suite.read import read_suite

if TYPE_CHECKING:
    from bfc_bench.run.grid import Grid
    from bfc_bench.run.session import Session
    from bfc_bench.until_decided import Decided


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Which part of a suite is run, on which device and executor, and into which store.

    Raises ``UsageError`` for a text where a list of texts is expected, ``jobs`` below 1, and an unknown ``redo``.
    """

    store: str | Path = DEFAULT_STORE
    """Folder of the store."""
    learners: Sequence[str] = ()
    """Names or labels of the learners to run; all of them by default."""
    tasks: Sequence[str] = ()
    """Names of the tasks to run; all of them by default."""
    changes: Sequence[str] = ()
    """Changes to the suite, such as ``"replicates=2"``, in the grammar of ``--set``."""
    device: str = "auto"
    """Where learners compute: ``auto``, ``cpu`` or ``cuda``."""
    executor: str | None = None
    """Name of the executor; by default that of the suite, else ``processes``."""
    executor_options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """Options of the executor, which override those of the suite."""
    jobs: int | None = None
    """Number of workers on the CPU; one per core by default."""
    redo: Collection[Redo] = ()
    """Which cells with a row are run again: ``failed``, ``killed`` (their worker was ended), ``stale`` (made by another
    release or on another device), ``all``."""
    plugins: Plugins | None = None
    """Plugins to use; by default the installed ones. ``load_plugins(extra)`` adds plugin objects."""
    listeners: Sequence[object] = ()
    """Plugin objects that receive the events of this run only."""

    def __post_init__(self) -> None:
        for name in ("learners", "tasks", "changes"):
            if isinstance(given := getattr(self, name), str):
                raise UsageError(f"{name} must be a list of texts. Got {given!r}; write [{given!r}].")
        if self.jobs is not None and (not isinstance(self.jobs, int) or self.jobs < 1):
            raise UsageError(f"jobs must be an integer of at least 1. Got {self.jobs!r}.")
        known = get_args(Redo)
        if isinstance(self.redo, str) or not set(self.redo) <= set(known):
            raise UsageError(f"redo must be a list of {', '.join(known[:-1])} or {known[-1]}. Got {self.redo!r}.")


def load_learner(name: str, **options: Any) -> Learner:
    """A learner by name, for example ``load_learner("kernel-ridge", kernel="rbf")``.

    Raises:
        UsageError: The name or an option is unknown, or a value is out of range.
    """
    return load_plugins().learner(name).parse(options, f"learner {name!r}")


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
    from bfc_bench.run.session import Runner

    return Runner(**_arguments(suite, options)).run_cells(redo=options.redo)


def run_until_decided(
    suite: str | Path | Suite,
    options: RunOptions = RunOptions(),
    *,
    hours: float | None = None,
    last: int = 20,
    tell: Callable[[str], None] = lambda text: None,
) -> Decided:
    """Run a suite, then add replicates, and sizes where N* lies beyond those tested, to its undecided claims.

    Claims are judged at growing numbers of replicates (looks), with significance levels that hold for all looks
    together. The store keeps the looks, so that the same call continues an interrupted one. ``Decided.ended`` gives the
    outcome of each claim and the reason.

    Args:
        suite: Name or path of a suite, or a ``Suite``.
        options: What to run and how.
        hours: Time in hours after which no cell starts; None for no limit.
        last: Number of replicates at the last look.
        tell: Called with a line of text at each look.

    Raises:
        UsageError: As in ``run_suite``, or ``hours`` is not positive, or ``last`` is below 3.
        StoreError: The store cannot be written.
    """
    from bfc_bench.until_decided import UntilDecided

    return UntilDecided(**_arguments(suite, options), redo=options.redo, hours=hours, last=last, tell=tell).run()


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
    from bfc_bench.locating import LocatingRun

    arguments = _arguments(suite, options, locating=True)
    locate = arguments["grid"].suite.locate or Locate()
    if factor is not None:
        locate = Locate.parse({"factor": factor, "levels": locate.levels}, "locate")
    return LocatingRun(**arguments, redo=options.redo, locate=locate, tell=tell).run()


def _arguments(suite: str | Path | Suite, options: RunOptions, *, locating: bool = False) -> dict[str, Any]:
    """The arguments that all ways of running a suite have in common."""
    from bfc_bench.run.executor_selection import executor_of

    if not isinstance(options, RunOptions):
        raise UsageError(f"options must be RunOptions(...). Got {type(options).__name__}.")
    plugins = options.plugins or load_plugins()
    grid = grid_of(suite, options.changes, plugins, options.learners, options.tasks)
    if grid.suite.locate and not locating:
        raise UsageError("the suite has locate: leave out --until-decided; in Python, use run_locating.")
    executor = executor_of(grid.suite, plugins, options.executor, options.executor_options)
    return {
        "grid": grid,
        "plugins": plugins,
        "directory": Path(options.store),
        "device": executor.resolve_device(options.device),
        "executor": executor,
        "jobs": options.jobs,
        "listeners": options.listeners,
    }


def grid_of(
    suite: str | Path | Suite, changes: Sequence[str], plugins: Plugins, learners: Sequence[str], tasks: Sequence[str]
) -> Grid:
    """The cells of a suite, or of some of its learners and tasks."""
    from bfc_bench.run.grid import resolve

    if isinstance(suite, Suite):
        return resolve(suite, plugins, "suite", learners, tasks)
    if not isinstance(suite, str | Path):
        raise UsageError(f"a suite must be a name, a path or a bfc_bench.Suite. Got {type(suite).__name__}.")
    path = suite_path(suite, plugins.suites)
    return resolve(read_suite(path, changes, learners), plugins, str(path), learners, tasks)
