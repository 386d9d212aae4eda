"""What Python users call; ``import bfc_bench`` offers it all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from bfc_bench.errors import UsageError
from bfc_bench.learner import Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.store import DEFAULT_STORE, Redo
from bfc_bench.store.row import Row
from bfc_bench.stored_suite import open_store
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Suite, read_suite

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from bfc_bench.analysis.claims import Verdict
    from bfc_bench.run.grid import Grid
    from bfc_bench.run.session import Session
    from bfc_bench.until_decided import Decided


def load_learner(name: str, **options: Any) -> Learner:
    """A learner by its name, for example ``load_learner("kernel-ridge", kernel="rbf")``.

    Raises ``UsageError`` for an unknown name or option and for a value out of range.
    """
    return load_plugins().learner(name).parse(options, f"learner {name!r}")


def as_sklearn(
    learner: Learner | str,
    *,
    classifier: bool | None = None,
    standardize: bool = True,
    shape: Sequence[int] | None = None,
    search: bool = False,
    **options: Any,
) -> BaseEstimator:
    """Any learner as a scikit-learn estimator: a ``classifier``, or by default a regressor where it can be one.

    Inputs and values are standardized by the training points unless ``standardize=False``. ``shape`` is (channels,
    height, width) where a row is an image. With ``search`` it is a
    ``GridSearchCV`` over the learner's own search space.
    """
    from bfc_bench.estimator import as_sklearn

    if isinstance(learner, type):
        raise UsageError(f"as_sklearn takes a learner, not its class; write as_sklearn({learner.__name__}()).")
    if isinstance(learner, str):
        learner = load_learner(learner, **options)
    elif options:
        raise TypeError(
            f"as_sklearn: options go with a learner's name; {learner.name!r} has its own. Got {sorted(options)}."
        )
    return as_sklearn(learner, classifier=classifier, standardize=standardize, shape=shape, search=search)


def load_suite(suite: str | Path, changes: Sequence[str] = ()) -> Suite:
    """A suite by name or path, with changes such as ``"replicates=2"``. Raises ``UsageError`` naming file and key."""
    return read_suite(suite_path(suite, load_plugins().suites), changes)


def run_suite(
    suite: str | Path | Suite,
    *,
    store: str | Path = DEFAULT_STORE,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    changes: Sequence[str] = (),
    device: str = "auto",
    executor: str | None = None,
    executor_options: Mapping[str, Any] = MappingProxyType({}),
    jobs: int | None = None,
    redo: Collection[Redo] = (),
    retry_failed: bool = False,
    plugins: Plugins | None = None,
    listeners: Sequence[object] = (),
) -> Session:
    """Run what is missing of a suite and return the ended session; ``open_store`` reads what it found. Rows that shards
    have made are collected before.

    ``executor`` says where cells run, with its options: by default what the suite says, else ``processes``. ``jobs`` is
    the number of workers on the CPU, by default one per core. ``redo`` names cells that have a row and are made again:
    ``failed``, ``killed`` (their worker was ended), ``stale`` (made by another release, or on another device), ``all``.
    ``listeners`` are plugin objects that take part in this run only. MLflow is not touched; ``sync`` of the stored
    suite brings it up to date.
    ``retry_failed`` is the former spelling of ``redo=["failed"]`` and goes with the next release.
    """
    from bfc_bench.run.executor_selection import executor_of
    from bfc_bench.run.grid import resolve
    from bfc_bench.run.prestart import begun
    from bfc_bench.run.session import run
    from bfc_bench.shards.collect import collect

    if retry_failed:
        warnings.warn("run_suite: retry_failed=True is now redo=['failed'].", FutureWarning, stacklevel=2)
        redo = {*redo, "failed"}
    plugins = plugins or load_plugins()
    collect(Path(store))
    read, where = _read(suite, changes, plugins, learners, tasks)
    opens = executor_of(read, plugins, executor, executor_options)
    on = opens.resolve_device(device)
    with begun(opens, plugins, read, Path(store), learners=learners, device=on, jobs=jobs) as pool:
        return run(
            resolve(read, plugins, where, learners, tasks),
            plugins,
            Path(store),
            device=on,
            executor=opens,
            pool=pool,
            jobs=jobs,
            redo=redo,
            listeners=listeners,
        )


def run_until_decided(
    suite: str | Path | Suite,
    *,
    hours: float | None = None,
    last: int = 20,
    store: str | Path = DEFAULT_STORE,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    changes: Sequence[str] = (),
    device: str = "auto",
    executor: str | None = None,
    executor_options: Mapping[str, Any] = MappingProxyType({}),
    jobs: int | None = None,
    redo: Collection[Redo] = (),
    plugins: Plugins | None = None,
    listeners: Sequence[object] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Decided:
    """Run a suite, then add to its undecided claims replicates, and sizes where N* lies beyond those tested.

    Verdicts are taken at growing numbers of replicates up to ``last``, at levels that hold for all of these looks
    together; the store keeps the looks, so that the same call goes on where it was. No cells begin after ``hours``.
    ``Decided.ended`` says of each claim where it stands and why; ``tell`` is given a line per look. The other arguments
    are those of ``run_suite``.
    """
    from bfc_bench.run.executor_selection import executor_of
    from bfc_bench.shards.collect import collect
    from bfc_bench.until_decided import run_until_decided

    plugins = plugins or load_plugins()
    collect(Path(store))
    grid = grid_of(suite, changes, plugins, learners, tasks)
    opens = executor_of(grid.suite, plugins, executor, executor_options)
    return run_until_decided(
        grid,
        plugins,
        Path(store),
        device=opens.resolve_device(device),
        executor=opens,
        jobs=jobs,
        hours=hours,
        last=last,
        redo=redo,
        listeners=listeners,
        tell=tell,
    )


def grid_of(
    suite: str | Path | Suite, changes: Sequence[str], plugins: Plugins, learners: Sequence[str], tasks: Sequence[str]
) -> Grid:
    """What a suite plans, of some of its learners and tasks."""
    from bfc_bench.run.grid import resolve

    read, where = _read(suite, changes, plugins, learners, tasks)
    return resolve(read, plugins, where, learners, tasks)


def _read(
    suite: str | Path | Suite, changes: Sequence[str], plugins: Plugins, learners: Sequence[str], tasks: Sequence[str]
) -> tuple[Suite, str]:
    """A suite as it is written, and what messages call it."""
    for name, given in (("learners", learners), ("tasks", tasks), ("changes", changes)):
        if isinstance(given, str):
            raise UsageError(f"{name} must be a list of texts. Got {given!r}; write [{given!r}].")
    if isinstance(suite, Suite):
        return suite, "suite"
    path = suite_path(suite, plugins.suites)
    return read_suite(path, changes), str(path)


def read_results(suite: str | Path, *, store: str | Path = DEFAULT_STORE, every: bool = False) -> list[Row]:
    """The rows of a suite; with ``every`` also those made under older definitions of its tasks and learners.

    Raises ``StoreError`` when the store holds no run of the suite.
    """
    with open_store(store) as results:
        return results[str(suite)].rows(every=every)


def judge_claims(suite: str | Path, *, store: str | Path = DEFAULT_STORE) -> list[Verdict]:
    """A verdict per claim of a suite, from the rows in the store.

    Raises ``UsageError`` for a claim that does not fit the suite, and ``StoreError`` when the store holds no run of it.
    """
    with open_store(store) as results:
        return results[str(suite)].claims()
