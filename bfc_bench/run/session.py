"""Runs a suite: makes a plan, gives batches to an executor, commits the rows, and notifies plugins."""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

from bfc_bench.errors import BenchError, PluginError, UsageError, describe_error
from bfc_bench.executors.base import Executor, Pool, Preload, UnitFailure, usable_cores
from bfc_bench.executors.environment import not_dumpable
from bfc_bench.executors.memory import READABLE
from bfc_bench.plugins.manager import Plugins, load_plugins
from bfc_bench.run.cell import make_row, run_batch
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.plan import Plan, plan_for
from bfc_bench.run.provenance import provenance
from bfc_bench.run.wire_format import TRACEBACK, FinishedCell, receive
from bfc_bench.run.work_units import Batch, drawn_problem, preload_of
from bfc_bench.store.row import Status
from bfc_bench.store.store import Store
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.precision import Device
from bfc_bench.utils.escape_control import visible, with_texts
from bfc_bench.utils.masking import masker

DEFAULT_EXECUTOR = "processes"
TEXTS = ("reason", "stages", "chosen")
"""Columns with texts of learners."""


@dataclass(repr=False)
class Session:
    """A run in progress, as plugins see it."""

    id: str
    suite: str
    version: int
    store: Store
    """Closed when the run has ended; ``bfc_bench.open_store`` opens it again."""
    plan: Plan
    provenance: dict[str, Any]
    warnings: list[str] = field(default_factory=list)
    """Warnings to show before the first cell runs, a line each."""
    interrupted: bool = False
    statuses: Counter[str] = field(default_factory=Counter)
    """Number of rows of this run by status."""
    running: Callable[[], Sequence[tuple[float, Batch]]] = tuple
    """The batches that workers have now, and when each began on the clock of ``time.monotonic``, the earliest first."""

    def __repr__(self) -> str:
        return f"<run {self.id} of {self.suite}@{self.version} into {self.store.directory}: {self.counts}>"

    def _repr_html_(self) -> str:
        state = " (interrupted)" if self.interrupted else ""
        text = f"{self.counts}{state} in {self.store.directory}; done before: {len(self.plan.done)}"
        return f"<b>{escape(self.suite)}@{self.version}</b>: {escape(text)}"

    @property
    def counts(self) -> str:
        """The rows of this run by status, as text."""
        return counts_text(self.statuses, len(self.plan.todo))

    @property
    def exit_code(self) -> int:
        """0 if all cells are ok or skipped, 1 if a cell failed (in this run or an earlier one), 130 if interrupted."""
        return 130 if self.interrupted else int(self.bad > 0)

    @property
    def bad(self) -> int:
        """Number of cells that are not ok, of this run and of those before that it did not run again."""
        ended = self.statuses.total() - self.statuses["ok"] - self.statuses["skipped"]
        return ended + len(self.plan.failed)


def counts_text(statuses: Mapping[str, int], todo: int) -> str:
    """``3 failed, 177 ok``; before the first row ``36 to do``, or ``nothing to do``."""
    left = f"{todo} to do" if todo else "nothing to do"
    return ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or left


def run_cells(
    grid: Grid, cells: Sequence[Cell], options: RunOptions, until: float = inf, *, alone: bool = False
) -> Session:
    """Run those cells of a grid that the store does not have or that ``options.redo`` names.

    No batch begins after ``until`` on the clock of ``time.monotonic``. With ``alone`` each cell is a batch of its own,
    so that none is trained with others.
    """
    suite, plugins, jobs = grid.suite, options.plugins or load_plugins(), options.jobs
    executor, device = executor_and_device(grid, options)
    preload = {} if executor.place == "session" else preload_of(grid)
    if executor.place == "machine":
        jobs = jobs or usable_cores()
    with Store(Path(options.store), write=True) as store, plugins.with_listeners(options.listeners):
        id = secrets.token_hex(6)
        plan = plan_for(grid, store, device, cells, redo=options.redo, executor=executor)
        facts = provenance(device, executor, jobs)
        store.begin_session(id, suite.name, suite.version, suite.definition(), facts)
        store.define(suite.name, suite.version, grid.task_digests, grid.learner_digests)
        session = Session(id, suite.name, suite.version, store, plan, facts)
        if plan.todo and executor.place == "machine" and not READABLE:
            session.warnings.append("memory is not limited here, without /proc: a cell may take more than its budget.")
        plugins.manager.hook.bfc_run_started(session=session)
        try:
            with not_dumpable() if executor.place != "session" else nullcontext():
                _run(session, plugins, partial(_open_pool, executor, plugins, jobs, preload), until, alone)
        except KeyboardInterrupt:
            session.interrupted = True
        finally:
            drawn_problem.cache_clear()
            session.running = tuple  # no batch is kept longer than its run
            plugins.manager.hook.bfc_run_finished(session=session)
        store.end_session(id)
        return session


def executor_and_device(grid: Grid, options: RunOptions) -> tuple[Executor, Device]:
    """The executor of a run, ready to be opened, and the device that it computes on."""
    plugins = options.plugins or load_plugins()
    executor = executor_of(grid.suite, plugins, options.executor, options.executor_options)
    return executor, executor.resolve_device(options.device)


def executor_of(suite: Suite, plugins: Plugins, name: str | None, options: Mapping[str, Any]) -> Executor:
    """The executor of a run, ready to be opened: the command's, else the suite's, else local processes."""
    if name == "slurm" and name not in plugins.executors:
        raise UsageError("SLURM is not an executor: `bfc-bench submit SUITE --shards K` runs a suite there.")
    entry = suite.executor
    if entry is not None and name in (None, entry.name):
        name, options = entry.name, {**entry.options, **options}
    executor = plugins.executor(name or DEFAULT_EXECUTOR, options)
    executor.ready()
    return executor


def _run(session: Session, plugins: Plugins, open_pool: Callable[[], Pool], until: float, alone: bool) -> None:
    commit = partial(_commit, session, plugins)
    plan = session.plan
    unfit: list[tuple[Cell, Status, str]] = [(cell, "skipped", plan.skipped[cell]) for cell in plan.to_skip]
    unfit += [(cell, "failed", visible(fault)) for cell, fault in plan.broken.items()]
    for start in range(0, len(unfit), 1000):
        part = unfit[start : start + 1000]
        commit([(make_row(plan.batch([cell]), cell, status, why), "", {}) for cell, status, why in part])
    if len(plan.broken) == len(plan.todo):
        return
    batches: dict[int, Batch] = {}
    lost: set[str] = set()
    pool = open_pool()

    def running() -> Sequence[tuple[float, Batch]]:
        units: Mapping[int, float] = pool.running() if hasattr(pool, "running") else {}
        return [(began, batches[key]) for key, began in sorted(units.items(), key=lambda unit: unit[1])]

    session.running = running
    try:
        seconds = plan.grid.suite.budget.cell_seconds
        slots = {device: pool.slots(device) for device in sorted({*map(plan.device_of, plan.todo)})}
        _note(session, {"jobs": pool.slots("cpu"), **({"gpu_jobs": slots["cuda"]} if "cuda" in slots else {})})

        def submit(batch: Batch) -> None:
            if time.monotonic() > until:
                return
            batches[len(batches)] = batch
            pool.submit(len(batches) - 1, batch, seconds, batch.device, batch.learner.name)

        planned = plan.batches(pool.slots("cpu"), slots.get("cuda"))
        waiting = iter([plan.batch([cell]) for batch in planned for cell in batch.cells] if alone else planned)
        for batch in waiting if until == inf else islice(waiting, sum(slots.values())):
            submit(batch)
        for key, outcome in pool.outcomes():
            batch = batches[key]
            report = outcome if isinstance(outcome, UnitFailure) else _checked_report(batch, outcome)
            if not isinstance(report, UnitFailure):
                finished, precision = report
                commit(finished)
                _note(session, precision, "precision")
            elif len(batch.cells) > 1:  # so that only the cell that failed is marked
                for cell in batch.cells:
                    submit(plan.batch([cell]))
            elif report.kind == "lost" and (cell := batch.cells[0]).id not in lost:
                lost.add(cell.id)  # perhaps not because of the cell
                submit(batch)
            else:
                status: Status = "killed" if report.kind == "lost" else report.kind
                row = make_row(batch, batch.cells[0], status, visible(report.reason))
                commit([(row, visible(report.traceback, TRACEBACK), {})])
            for batch in islice(waiting, 1):  # with a time limit, a batch is queued when a worker is free
                submit(batch)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            plugins.manager.hook.bfc_run_interrupted(session=session)
        pool.close(now=True)
        raise
    pool.close()


def _commit(session: Session, plugins: Plugins, finished: Sequence[FinishedCell]) -> None:
    """Store the rows of cells and their artifacts, and notify plugins.

    Credentials are hidden here, because only the session has the variables that are credentials.
    """
    grid, mask = session.plan.grid, masker()
    rows, files = [], {}
    for row, traceback, artifacts in finished:
        texts = {name: with_texts(getattr(row, name), mask) for name in TEXTS}
        shown = replace(row, provenance=session.id, axes=grid.axes(row.task, row.label), **texts)
        rows.append((shown, grid.task_digests[row.task], grid.learner_digests[row.label], mask(traceback)))
        if artifacts:
            files[row.cell] = artifacts
    session.store.put(rows, files)
    for row, *_ in rows:
        session.statuses[row.status] += 1
        plugins.manager.hook.bfc_result(result=row)


def _open_pool(executor: Executor, plugins: Plugins, jobs: int | None, preload: Preload) -> Pool:
    """The executor's pool."""
    try:
        return executor.open(run_batch, preload, jobs)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        named = f"executor {executor.name!r} of plugin {plugins.executors.origin(executor.name)!r}"
        raise PluginError(f"{named}: open raised {describe_error(error)}.") from error


def _note(session: Session, facts: Mapping[str, Any], table: str = "") -> None:
    """Add facts to the provenance, or to a table in it, such as libraries that learners load later."""
    noted = session.provenance[table] if table else session.provenance
    if not facts.items() <= noted.items():
        noted.update(facts)
        session.store.amend_session(session.id, session.provenance)


def _checked_report(batch: Batch, sent: object) -> tuple[list[FinishedCell], dict[str, Any]] | UnitFailure:
    """The checked rows and precision of a worker's report on a batch."""
    try:
        return receive(batch, sent)
    except Exception as error:
        return UnitFailure("failed", f"the worker sent an invalid result: {describe_error(error)}")
