"""A first worker that loads its libraries while the session loads its own, before it is known what there is to do."""

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
    """A pool whose first worker starts now and imports what the first of ``learners``, or of the suite, needs.

    For the first run into a store, where there is something to do for certain, on the CPU of this machine; otherwise,
    and of executors that begin nothing, None. At its end the pool is closed, whatever has become of the run.
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
