"""What Python users call; ``import bfc_bench`` offers it all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bfc_bench import DEFAULT_STORE
from bfc_bench.errors import StoreError
from bfc_bench.learner import Learner
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.store.row import Row
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite, read_suite

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from bfc_bench.analysis.claims import Claim, Verdict
    from bfc_bench.run.session import Session


def load_learner(name: str, **options: Any) -> Learner:
    """A learner by its name, for example ``load_learner("kernel-ridge", kernel="rbf")``.

    Raises ``UsageError`` for an unknown name or option and for a value out of range.
    """
    return load_plugins().learner(name).parse(options, f"learner {name!r}")


def as_sklearn(learner: Learner | str, **options: Any) -> BaseEstimator:
    """Any learner as a scikit-learn estimator."""
    from bfc_bench.estimator import as_sklearn

    if isinstance(learner, str):
        return as_sklearn(load_learner(learner, **options))
    if options:
        raise TypeError(
            f"as_sklearn: options go with a learner's name; {learner.name!r} has its own. Got {sorted(options)}."
        )
    return as_sklearn(learner)


def suite_path(suite: str | Path, plugins: Plugins) -> Path:
    """The file of a suite given by name or by path. Raises ``UsageError`` that suggests the nearest name."""
    path = Path(suite)
    if str(suite) not in plugins.suites and (path.suffix == ".toml" or path.parent != Path(".")):
        return path
    return plugins.suites.get(str(suite))


def load_suite(suite: str | Path, changes: Sequence[str] = ()) -> Suite:
    """A suite by name or path, with changes such as ``"replicates=2"``. Raises ``UsageError`` naming file and key."""
    return read_suite(suite_path(suite, load_plugins()), changes)


def run_suite(
    suite: str | Path | Suite,
    *,
    store: str | Path = DEFAULT_STORE,
    learners: Sequence[str] = (),
    tasks: Sequence[str] = (),
    changes: Sequence[str] = (),
    device: str = "auto",
    executor: str = "processes",
    jobs: int | None = None,
    retry_failed: bool = False,
    plugins: Plugins | None = None,
) -> Session:
    """Run what is missing of a suite and return the ended session; the rows are read with ``read_results``.

    ``jobs`` is the number of workers, by default one per core. MLflow is not touched; ``bfc-bench sync`` brings it up
    to date.
    """
    from bfc_bench.run.resolve import resolve
    from bfc_bench.run.session import run
    from bfc_bench.toolkit.precision import resolve_device

    plugins = plugins or load_plugins()
    where = "suite" if isinstance(suite, Suite) else str(suite_path(suite, plugins))
    model = suite if isinstance(suite, Suite) else read_suite(suite_path(suite, plugins), changes)
    return run(
        resolve(model, plugins, where, learners, tasks),
        plugins,
        Path(store),
        device=resolve_device(device),
        executor=executor,
        jobs=jobs or os.cpu_count() or 1,
        retry_failed=retry_failed,
    )


def suite_key(suite: str | Path, store: Store, plugins: Plugins) -> tuple[str, int]:
    """Name and version under which a store holds a suite; a name unknown here may still be in the store."""
    held = [version for name, version in store.suites() if name == str(suite)]
    if held and str(suite) not in plugins.suites:
        return str(suite), max(held)
    model = read_suite(suite_path(suite, plugins))
    return model.name, model.version


def read_results(suite: str | Path, *, store: str | Path = DEFAULT_STORE, every: bool = False) -> list[Row]:
    """The rows of a suite; with ``every`` also those made under older definitions of its tasks and learners.

    Raises ``StoreError`` when the store holds no run of the suite.
    """
    opened = Store(Path(store))
    name, version = suite_key(suite, opened, load_plugins())
    if (name, version) not in opened.suites():
        raise StoreError(f"The store in {store} has no run of {name}@{version}; `bfc-bench run {suite}` makes one.")
    return opened.rows(name, version, every=every)


def suite_claims(suite: str | Path, store: Store, plugins: Plugins) -> list[Claim]:
    """The claims in the suite file as it is now; those of the store's last run where there is no file.

    So a new claim is judged without a new run. Raises ``UsageError`` for a claim that does not fit the suite.
    """
    from bfc_bench.analysis.claims import parse_claims

    name, version = suite_key(suite, store, plugins)
    if name == str(suite) and name not in plugins.suites:
        return parse_claims(Suite.parse(store.sessions(name, version)[-1]["definition"], name), plugins.claims, name)
    path = suite_path(suite, plugins)
    return parse_claims(read_suite(path), plugins.claims, str(path))


def judge_claims(suite: str | Path, *, store: str | Path = DEFAULT_STORE) -> list[Verdict]:
    """A verdict per claim of a suite, from the rows in the store.

    Raises ``UsageError`` for a claim that does not fit the suite, and ``StoreError`` when the store holds no run of it.
    """
    from bfc_bench.analysis.claims import judge

    return judge(suite_claims(suite, Store(Path(store)), load_plugins()), read_results(suite, store=store))
