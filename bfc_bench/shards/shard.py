"""Runs a shard: fits its cells in a temporary store and writes their rows to its journal."""

from __future__ import annotations

import os
import platform
import signal
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from bfc_bench.errors import BenchError, UsageError
from bfc_bench.executors.processes import ProcessExecutor
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.run.cell import make_row
from bfc_bench.run.grid import Cell, Grid, resolve
from bfc_bench.run.provenance import provenance
from bfc_bench.run.session import Session, plan_for, run
from bfc_bench.shards.heartbeat import HeartbeatWriter
from bfc_bench.shards.job import ShardJob
from bfc_bench.shards.journal import Journal
from bfc_bench.shards.scratch import local, scratch
from bfc_bench.shards.throttled_pool import PoolControl, ThrottledProcesses
from bfc_bench.store.backup import ARTIFACTS, replace_folder
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.precision import COMPILE_CACHE_BYTES
from bfc_bench.utils.hook_markers import hookimpl

GRACE = 60.0
"""Seconds for running units to end after SIGUSR1, of the 90 that SLURM gives."""
MOST_LOSSES = 2
"""A cell that was running this often when its shard ended unexpectedly is not tried again."""


def run_shard(folder: Path, number: int, *, listeners: Sequence[object] = ()) -> int:
    """Run the cells of a shard that have no row yet.

    After SIGUSR1 no unit begins, and units that still run ``GRACE`` seconds later are stopped without a row. SIGTERM
    and Ctrl-C stop them at once. If an earlier attempt ended unexpectedly, the cells that it was running run first, one
    by one; a cell that was running ``MOST_LOSSES`` times gets a row with the status ``killed``.

    Args:
        folder: Folder of the job.
        number: Number of the shard, from 0.
        listeners: Plugin objects that are notified in this run.

    Returns:
        0 if every cell has a row, 130 if the shard was told to stop before.

    Raises:
        UsageError: The suite resolves to other cells here than where the job was submitted.
        BenchError: As of ``run``.
    """
    job = ShardJob.read(folder)
    part = job.part(number)
    heartbeat = HeartbeatWriter(job.file("heartbeats", number), provenance(job.device, ProcessExecutor(), job.workers))

    def note(batches: Sequence[Sequence[str]]) -> None:
        journal.sync()  # first, so that the rows of ended units are on the disk when their cells are no longer noted
        heartbeat.running(batches)

    with closing(Journal(job.file("journals", number))) as journal, _stop_signals(watch := PoolControl(note)):
        try:
            shard = _Shard(job, journal, watch, load_plugins(), listeners)
            try:
                shard.run(part.cells, Counter(part.lost) + Counter(heartbeat.now.lost))
            finally:
                journal.sync()
            done = journal.cells >= {cell.id for cell in part.cells}
            heartbeat.end("done" if done else "stopped")
            return 0 if done else 130
        except KeyboardInterrupt:
            heartbeat.end("stopped")
            return 130
        except BaseException as error:
            heartbeat.end("failed", str(error) if isinstance(error, BenchError) else repr(error))
            raise


@dataclass
class _Shard:
    job: ShardJob
    journal: Journal
    watch: PoolControl
    plugins: Plugins
    listeners: Sequence[object]

    def run(self, cells: Sequence[Cell], lost: Counter[str]) -> None:
        """Run the cells that have no row. ``lost`` counts unexpected ends of shards by running cell."""
        grid = self._grid(cells)
        _use_local_compile_cache()
        left = [cell for cell in cells if cell.id not in self.journal.cells]
        for cell in left:
            if lost[cell.id] >= MOST_LOSSES:
                self._give_up(grid, cell, lost[cell.id])
        first = [cell for cell in left if 0 < lost[cell.id] < MOST_LOSSES]
        with scratch() as folder:
            for group, workers, alone in ((first, 1, True), (left, self.job.workers, False)):
                todo = [cell for cell in group if cell.id not in self.journal.cells]
                if todo and not self.watch.stopping:
                    self._session(grid, todo, workers, folder, {cell.id for cell in todo} if alone else ())

    def _session(self, grid: Grid, cells: Sequence[Cell], workers: int, folder: Path, alone: Collection[str]) -> None:
        session = run(
            replace(grid, only=tuple(cells), alone=frozenset(alone)),
            self.plugins,
            folder,
            device=self.job.device,
            executor=ThrottledProcesses(watch=self.watch),
            jobs=workers,
            listeners=[_JournalListener(self.job, self.journal, grid), *self.listeners],
        )
        if session.interrupted:
            raise KeyboardInterrupt

    def _grid(self, cells: Sequence[Cell]) -> Grid:
        """The job's grid. Raises ``UsageError`` if the cells have other ids here."""
        grid = resolve(Suite.parse(self.job.suite, self.job.where), self.plugins, self.job.where)
        for cell in cells:
            if grid.cell(cell.task, cell.label, cell.d, cell.n, cell.replicate).id != cell.id:
                raise UsageError(
                    f"{cell.label} on {cell.task} differs on {platform.node()} from the machine where bfc-bench "
                    f"{self.job.release} submitted the job: another version of the learner, or other data. "
                    "Install the same versions on both, then submit again."
                )
        return grid

    def _give_up(self, grid: Grid, cell: Cell, losses: int) -> None:
        plan = plan_for(replace(grid, only=(cell,)), None, self.job.device, session=self.job.id)
        row = make_row(plan.single(cell), cell, "killed", lost_reason(losses))
        self.journal.add((row, grid.task_digests[cell.task], grid.learner_digests[cell.label], ""))


def lost_reason(times: int) -> str:
    """The reason of a cell that is not tried again."""
    return f"its shard ended unexpectedly {times} times while it ran, perhaps with its machine; see --redo killed"


@dataclass
class _JournalListener:
    """Writes each row that a session commits to the journal, and copies its artifacts."""

    job: ShardJob
    journal: Journal
    grid: Grid
    session: Session | None = None

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """Remember the session, for its store."""
        self.session = session

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """Write a committed row to the journal."""
        assert self.session is not None
        store = self.session.store
        artifacts = Path(ARTIFACTS, f"{result.suite}@{result.suite_version}", result.cell)
        if (store.directory / artifacts).is_dir():
            replace_folder(store.directory / artifacts, self.job.folder / artifacts)
        digests = self.grid.task_digests[result.task], self.grid.learner_digests[result.label]
        self.journal.add((replace(result, provenance=self.job.id), *digests, store.traceback(result.cell)))


@contextmanager
def _stop_signals(watch: PoolControl) -> Iterator[None]:
    """Handle SIGUSR1, SIGTERM and Ctrl-C. Repeated signals are ignored."""

    def stop_soon(number: int, frame: FrameType | None) -> None:
        if not watch.stopping:
            watch.stopping = True
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    def stop_now(number: int, frame: FrameType | None) -> None:
        watch.stopping = True
        for other in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    handlers = {
        signal.SIGUSR1: stop_soon,
        signal.SIGALRM: stop_now,
        signal.SIGTERM: stop_now,
        signal.SIGINT: stop_now,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _use_local_compile_cache() -> None:
    """Let JAX cache compiled programs on this machine's disk, unless the user has chosen a folder.

    The home folder may be shared by many machines, on which JAX's locks are unreliable.
    """
    folder = local() / f"bfc-bench-{os.getuid()}" / "jax"
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.parent.lstat()
    except OSError:
        return
    if (status.st_uid, status.st_mode & 0o777) == (os.getuid(), 0o700):  # private to this user
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"
        os.environ["JAX_COMPILATION_CACHE_MAX_SIZE"] = str(COMPILE_CACHE_BYTES)
