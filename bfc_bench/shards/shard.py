"""Runs one shard of a job: its cells, in a store of its own that is thrown away, and their rows into its journal."""

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
from bfc_bench.shards.throttled_pool import ThrottledProcesses, Watch
from bfc_bench.store.backup import ARTIFACTS, put_folder
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Suite
from bfc_bench.toolkit.precision import COMPILE_CACHE_BYTES
from bfc_bench.utils.hook_markers import hookimpl

GRACE = 60.0
"""Seconds that what runs may take to end after it was told to stop (SIGUSR1), of the 90 that SLURM gives."""
MOST_LOSSES = 2
"""A cell that was running so many times when its shard ended without a word is not tried again."""


def run_shard(folder: Path, number: int, *, listeners: Sequence[object] = ()) -> int:
    """Run what is missing of a shard; 0 when every cell has its row, 130 when it was told to stop before.

    SIGUSR1 begins no more units and gives back what has not ended ``GRACE`` seconds later; SIGTERM and Ctrl-C give it
    back at once. An attempt that ended without a word, with its machine perhaps, is made up for: the cells that it was
    running are run first and one by one, and those that were running ``MOST_LOSSES`` times are ``killed``. Raises
    ``UsageError`` where the suite is not here what it was where it was submitted, and what ``run`` raises.
    """
    job = ShardJob.read(folder)
    part = job.part(number)
    heart = HeartbeatWriter(job.file("heartbeats", number), provenance(job.device, ProcessExecutor(), job.workers))

    def note(batches: Sequence[Sequence[str]]) -> None:
        journal.sync()  # first: of a unit that runs no more the rows are there, whatever becomes of the machine
        heart.running(batches)

    with closing(Journal(job.file("journals", number))) as journal, _told_to_stop(watch := Watch(note)):
        try:
            shard = _Shard(job, journal, watch, load_plugins(), listeners)
            try:
                shard.run(part.cells, Counter(part.lost) + Counter(heart.now.lost))
            finally:
                journal.sync()
            done = journal.cells >= {cell.id for cell in part.cells}
            heart.end("done" if done else "stopped")
            return 0 if done else 130
        except KeyboardInterrupt:
            heart.end("stopped")
            return 130
        except BaseException as error:
            heart.end("failed", str(error) if isinstance(error, BenchError) else repr(error))
            raise


@dataclass
class _Shard:
    job: ShardJob
    journal: Journal
    watch: Watch
    plugins: Plugins
    listeners: Sequence[object]

    def run(self, cells: Sequence[Cell], lost: Counter[str]) -> None:
        """Run the cells that have no row. ``lost`` counts how often each was running at a sudden end."""
        grid = self._grid(cells)
        _keep_programs_here()
        left = [cell for cell in cells if cell.id not in self.journal.cells]
        for cell in left:
            if lost[cell.id] >= MOST_LOSSES:
                self._give_up(grid, cell, lost[cell.id])
        first = [cell for cell in left if 0 < lost[cell.id] < MOST_LOSSES]
        with scratch() as folder:
            for several, workers, alone in ((first, 1, True), (left, self.job.workers, False)):
                own = [cell for cell in several if cell.id not in self.journal.cells]
                if own and not self.watch.stopping:
                    self._session(grid, own, workers, folder, {cell.id for cell in own} if alone else ())

    def _session(self, grid: Grid, cells: Sequence[Cell], workers: int, folder: Path, alone: Collection[str]) -> None:
        session = run(
            replace(grid, only=tuple(cells), alone=frozenset(alone)),
            self.plugins,
            folder,
            device=self.job.device,
            executor=ThrottledProcesses(watch=self.watch),
            jobs=workers,
            listeners=[_Keeper(self.job, self.journal, grid), *self.listeners],
        )
        if session.interrupted:
            raise KeyboardInterrupt

    def _grid(self, cells: Sequence[Cell]) -> Grid:
        """The job's grid. Raises ``UsageError`` where its cells are others here."""
        grid = resolve(Suite.parse(self.job.suite, self.job.where), self.plugins, self.job.where)
        for cell in cells:
            if grid.cell(cell.task, cell.label, cell.d, cell.n, cell.replicate).id != cell.id:
                raise UsageError(
                    f"{cell.label} on {cell.task} is not on {platform.node()} what it was where the job was submitted, "
                    f"by bfc-bench {self.job.release}: another version of the learner, or other data. "
                    "Install the same versions there and here, then submit again."
                )
        return grid

    def _give_up(self, grid: Grid, cell: Cell, losses: int) -> None:
        plan = plan_for(replace(grid, only=(cell,)), None, self.job.device, session=self.job.id)
        row = make_row(plan.single(cell), cell, "killed", lost_reason(losses))
        self.journal.add((row, grid.task_digests[cell.task], grid.learner_digests[cell.label], ""))


def lost_reason(times: int) -> str:
    """Why a cell is given up."""
    return f"its shard ended without a word while it ran, {times} times, with its machine perhaps; see --redo killed"


@dataclass
class _Keeper:
    """Puts each row that a session commits into the journal, with what its learner keeps beside it."""

    job: ShardJob
    journal: Journal
    grid: Grid
    session: Session | None = None

    @hookimpl
    def bfc_run_started(self, session: Session) -> None:
        """The session's store is known."""
        self.session = session

    @hookimpl
    def bfc_result(self, result: Row) -> None:
        """A row was committed."""
        assert self.session is not None
        store = self.session.store
        kept = Path(ARTIFACTS, f"{result.suite}@{result.suite_version}", result.cell)
        if (store.directory / kept).is_dir():
            put_folder(store.directory / kept, self.job.folder / kept)
        digests = self.grid.task_digests[result.task], self.grid.learner_digests[result.label]
        self.journal.add((replace(result, provenance=self.job.id), *digests, store.traceback(result.cell)))


@contextmanager
def _told_to_stop(watch: Watch) -> Iterator[None]:
    """Hear SIGUSR1 and SIGTERM; once, so that what they begin is not disturbed by more of them."""

    def soon(number: int, frame: FrameType | None) -> None:
        if not watch.stopping:
            watch.stopping = True
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    def now(number: int, frame: FrameType | None) -> None:
        watch.stopping = True
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    handlers = {signal.SIGUSR1: soon, signal.SIGALRM: now, signal.SIGTERM: now, signal.SIGINT: now}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _keep_programs_here() -> None:
    """Let JAX keep compiled programs on this machine's disk, for all shards that run here, unless the user has said
    where: a home that many machines share is no place for their locks."""
    folder = local() / f"bfc-bench-{os.getuid()}" / "jax"
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        known = folder.parent.lstat()
    except OSError:
        return
    if (known.st_uid, known.st_mode & 0o777) == (os.getuid(), 0o700):  # nobody else's
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.3"
        os.environ["JAX_COMPILATION_CACHE_MAX_SIZE"] = str(COMPILE_CACHE_BYTES)
