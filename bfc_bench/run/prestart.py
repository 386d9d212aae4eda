"""Starts a first worker early, so that it loads its libraries while the session still plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bfc_bench.executors.base import Executor, Pool
from bfc_bench.plugins import Plugins
from bfc_bench.run.cell import run_batch
from bfc_bench.run.executor_selection import begin_pool
from bfc_bench.run.work_units import UninstalledPlugins, warm_up
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.precision import Device


@contextmanager
def begun(
    executor: Executor,
    plugins: Plugins,
    suite: Suite,
    store: Path,
    *,
    learners: Sequence[str] = (),
    device: Device = "cpu",
    jobs: int | None = None,
) -> Iterator[Pool | None]:
    """A pool whose first worker starts now and imports what the first learner needs; closed at the end.

    None if the store has results already (there may be nothing to do), on other devices or machines than this CPU, and
    for executors without ``begin``.

    Args:
        executor: The executor.
        plugins: The plugins.
        suite: The suite.
        store: Folder of the store.
        learners: Labels or names of the learners of the run; empty means all of the suite.
        device: The device of the run.
        jobs: Number of workers on the CPU; None means one per core.
    """
    pool = None
    if device == "cpu" and executor.place == "machine" and not (store / "results.sqlite").exists():
        names = [entry.name for entry in suite.learner if not learners or {entry.label, entry.name} & {*learners}]
        extra = UninstalledPlugins.of(plugins)
        extra.check()
        prepare = partial(warm_up, device, extra, next(iter([*names, *learners]), ""))
        pool = begin_pool(plugins, executor, partial(run_batch, extra=extra), prepare, jobs)
    try:
        yield pool
    finally:
        if pool is not None:
            pool.close(now=True)
