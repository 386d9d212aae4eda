"""Runs a suite until its claims are decided: more replicates, and sizes at which N* can be seen, for those alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from bfc_bench.analysis.alpha_spending import LAST
from bfc_bench.analysis.claims import judge
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES
from bfc_bench.analysis.interim_analyses import ClaimLooks, Look
from bfc_bench.analysis.replicates_needed import BeyondSizes, unseen
from bfc_bench.errors import UsageError
from bfc_bench.executors.base import Executor
from bfc_bench.plugins import Plugins
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.session import Session, plan_for, run
from bfc_bench.store import Redo
from bfc_bench.store.export import Records
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.toolkit.precision import Device


@dataclass(frozen=True, slots=True)
class Ended:
    """Where a claim stands when the run ends."""

    claim: str
    verdict: str
    """As it must be quoted, with the look that it comes from."""
    replicates: int
    """That its last look read."""
    why: str
    """Why nothing more was run for it."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record."""
        return asdict(self)


@dataclass
class Decided:
    """What a run until all is decided has done."""

    sessions: list[Session] = field(default_factory=list)
    """The run of the suite as it is, then one per addition."""
    ended: Records[Ended] = field(default_factory=Records)

    @property
    def exit_code(self) -> int:
        """That of the first session that was not fine: 0, 1 where some cell is not ok, 130 when interrupted."""
        return max((session.exit_code for session in self.sessions), default=0)


class _Stopped(Exception):
    """No further cell is run, and why."""


def run_until_decided(
    grid: Grid,
    plugins: Plugins,
    directory: Path,
    *,
    device: Device = "cpu",
    executor: Executor,
    jobs: int | None = None,
    hours: float | None = None,
    last: int = LAST,
    redo: Collection[Redo] = (),
    listeners: Sequence[object] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Decided:
    """Run a grid, look at its claims, and add to those that are undecided what they need, until the next look.

    Looks are made at growing numbers of replicates up to ``last``, at levels that hold for all of them together
    (``analysis.alpha_spending``). The store keeps the looks, so that the same call continues where it stopped. An
    undecided claim gets more replicates of the cells that it reads and, if it is judged by N* and N* lies beyond the
    tested sizes, sizes that continue them. The run ends when all claims are decided or have had all their looks, when
    nothing helps, when it is interrupted, or after ``hours``, after which no batch of cells begins. ``tell`` is given
    a line per look. Claims about learners or tasks that the grid lacks are ignored.

    Raises ``UsageError`` for hours that are not positive or a ``last`` below 3, and what ``run`` raises.
    """
    if hours is not None and not hours > 0:
        raise UsageError(f"--hours must be positive. Got {hours:g}.")
    if last < MIN_REPLICATES:
        raise UsageError(f"--up-to must be at least {MIN_REPLICATES}, without which there is no verdict. Got {last}.")
    until = math.inf if hours is None else time.monotonic() + 3600 * hours

    def start(grid: Grid, redo: Collection[Redo] = ()) -> Session:
        return run(
            grid, plugins, directory,
            device=device, executor=executor, jobs=jobs, redo=redo, listeners=listeners, until=until,
        )  # fmt: skip

    return _Deciding(grid, plugins, directory, device, executor, last, start, tell, until).run(redo)


@dataclass
class _Deciding:
    grid: Grid
    plugins: Plugins
    directory: Path
    device: Device
    executor: Executor
    last: int
    start: Callable[..., Session]
    tell: Callable[[str], None]
    until: float
    done: Decided = field(default_factory=Decided)
    why: dict[str, str] = field(default_factory=dict)
    """Of claims for which nothing more is run, by id."""

    def run(self, redo: Collection[Redo]) -> Decided:
        try:
            self._start(self.grid, redo)
            while looks := self._plan():
                self._look(looks)
            stopped = ""
        except _Stopped as reason:
            stopped = str(reason)
        with Store(self.directory) as store:
            self.done.ended = Records(self._ended(store, stopped))
        return self.done

    def _start(self, grid: Grid, redo: Collection[Redo] = ()) -> None:
        """Run cells. Raises ``_Stopped`` where they are not all run."""
        if time.monotonic() > self.until:
            raise _Stopped("the hours are over")
        session = self.start(grid, redo)
        self.done.sessions.append(session)
        if session.interrupted:
            raise _Stopped("interrupted")
        if session.not_begun:
            raise _Stopped("the hours are over")

    def _plan(self) -> list[Look]:
        """The next look at each claim that is open and can be helped, noted in the store before anything is run."""
        looks = []
        with self._store() as store:
            suite = self._suite(store)
            rows = suite.columns()
            for claim_looks in self._looks_by_claim(suite, rows):
                coming = claim_looks.next(max(self.grid.suite.replicates, MIN_REPLICATES), self.last)
                if coming is None or (claim_looks.made and self._helpless(store, suite, claim_looks, rows)):
                    continue
                looks.append(replace(coming, reads=self._reads(claim_looks, coming)))
            store.note_looks(suite.name, suite.version, [look.as_dict() for look in looks])
        for number, of, replicates in sorted({(look.at.number, look.at.of, look.replicates) for look in looks}):
            claims = [look.claim for look in looks if (look.at.number, look.replicates) == (number, replicates)]
            self.tell(f"Look {number} of {of}, at {replicates} replicates: {', '.join(claims)}.")
        return looks

    def _look(self, looks: list[Look]) -> None:
        """Run what the looks need, then make them."""
        self._add(looks)
        while wider := self._wider(looks):
            looks = wider
            self._add(looks)
        with self._store() as store:
            suite = self._suite(store)
            rows = suite.columns()
            claims = {claim_looks.claim.id: claim_looks.claim for claim_looks in self._looks_by_claim(suite, rows)}
            seen = {look.claim: rows.at(look.sees(rows)) for look in looks}
            verdicts = judge([claims[look.claim].at_look(look.at) for look in looks], rows, suite.theories, seen)
            made = [replace(look, verdict=verdict.verdict) for look, verdict in zip(looks, verdicts, strict=True)]
            store.note_looks(suite.name, suite.version, [look.as_dict() for look in made])

    def _add(self, looks: Iterable[Look]) -> None:
        """Run the cells of looks that have no row."""
        cells = {
            cell.id: cell
            for look in looks
            for (task, label, d), sizes in look.reads.items()
            for n in sizes
            for cell in self._replicates(task, label, d, n, look.replicates)
        }
        with self._store() as store:
            held = store.held(self.grid.suite.name, self.grid.suite.version)
        if missing := tuple(cell for cell in cells.values() if cell.id not in held):
            self._start(replace(self.grid, only=missing))

    def _replicates(self, task: str, label: str, d: int, n: int, count: int) -> Iterator[Cell]:
        return (self.grid.cell(task, label, d, n, replicate) for replicate in range(count))

    def _reads(self, claim_looks: ClaimLooks, look: Look) -> dict[tuple[str, str, int], tuple[int, ...]]:
        """What the claim is about on the grid, with the sizes that were added for the look before."""
        sizes = {task.name: task for task in self.grid.suite.task}
        reads = {}
        for point in claim_looks.points:
            task = sizes[point.task]
            for label in claim_looks.claim.labels:
                most = self.grid.entries[label].max_n
                for d in task.d if point.d is None else (point.d,):
                    found = {*task.n, *look.reads.get((task.name, label, d), ())} if point.n is None else {point.n}
                    reads[task.name, label, d] = tuple(sorted(n for n in found if n <= most))
        return {curve: sizes for curve, sizes in reads.items() if sizes}

    def _wider(self, looks: Sequence[Look]) -> list[Look]:
        """The looks with sizes added where N* lies beyond those that they read; nothing where none can be added.

        The first look is at the suite as it is.
        """
        found, changed = [], []
        with self._store() as store:
            suite = self._suite(store)
            rows = suite.columns()
            claims = {claim_looks.claim.id: claim_looks.claim for claim_looks in self._looks_by_claim(suite, rows)}
            for look in looks:
                seen = rows.at(look.sees(rows))
                added = [
                    beyond
                    for beyond in (unseen(claims[look.claim], seen) if look.at.number > 1 else [])
                    if not self._obstacle(store, beyond, seen)
                ]
                reads = dict(look.reads)
                for beyond in added:
                    curve = (beyond.task, beyond.label, beyond.d)
                    reads[curve] = tuple(sorted({*reads[curve], beyond.size}))
                    self.tell(f"{look.claim}: {beyond}; n = {beyond.size} is added.")
                found.append(replace(look, reads=reads))
                changed += added
            if changed:
                store.note_looks(suite.name, suite.version, [look.as_dict() for look in found])
        return found if changed else []

    def _obstacle(self, store: Store, beyond: BeyondSizes, rows: Rows) -> str:
        """Why a size cannot be added: the suite's limits, the learner's, or what a cell may use."""
        limit = self.grid.entries[beyond.label].max_n
        if beyond.size > limit:
            return f"n = {beyond.size} is beyond its max_n"
        if problem := self.grid.tasks[beyond.task].check_size(beyond.size, self.grid.suite.test_size):
            return problem
        at_end = rows.where(task=beyond.task, label=beyond.label, d=beyond.d, n=beyond.end)
        if not at_end.ok.all():
            return f"cells at n = {beyond.end} are not ok"
        cell = self.grid.cell(beyond.task, beyond.label, beyond.d, beyond.size, 0)
        plan = plan_for(replace(self.grid, only=(cell,)), store, self.device, executor=self.executor)
        if cell in plan.skipped:
            return plan.skipped[cell]
        seconds, budget = plan.seconds.get(cell.id, 0.0), plan.common.cell_seconds
        if seconds > budget:
            return f"a cell at n = {beyond.size} would take about {seconds:.0f} s; the budget is {budget:g} s"
        return ""

    def _helpless(self, store: Store, suite: StoredSuite, claim_looks: ClaimLooks, rows: Rows) -> str:
        """Why more replicates would not decide a claim whose last look is made, noted in ``why``; empty else."""
        look = claim_looks.made[-1]
        seen = rows.at(look.sees(rows))
        (verdict,) = judge([claim_looks.judged], rows, suite.theories, {claim_looks.claim.id: seen})
        hidden = math.isnan(verdict.estimate) and unseen(claim_looks.claim, seen)  # no exponent for want of N*
        if not verdict.stuck and not hidden:
            return ""
        ends = [(beyond, self._obstacle(store, beyond, seen)) for beyond in unseen(claim_looks.claim, seen)]
        if any(not obstacle for _, obstacle in ends):
            return ""
        said = [f"{beyond}, and {obstacle}" for beyond, obstacle in ends]
        self.why[claim_looks.claim.id] = "; ".join(said) or verdict.stuck
        return self.why[claim_looks.claim.id]

    def _ended(self, store: Store, stopped: str) -> Iterator[Ended]:
        suite = self._suite(store)
        if not suite.sessions:
            return
        rows = suite.columns()
        verdicts = {verdict.id: verdict for verdict in suite.claims()}
        for claim_looks in self._looks_by_claim(suite, rows):
            verdict, coming = verdicts[claim_looks.claim.id], claim_looks.next(MIN_REPLICATES, self.last)
            if claim_looks.decided:
                why = "decided"
            elif coming is None:
                why = f"all {len(claim_looks.made)} looks are made"
            elif claim_looks.claim.id in self.why:
                why = self.why[claim_looks.claim.id]
            else:
                why = f"{stopped}, before look {coming.at.number}"
            replicates = claim_looks.stand.replicates if claim_looks.stand else 0
            yield Ended(claim_looks.claim.id, verdict.words, replicates, why)

    def _looks_by_claim(self, suite: StoredSuite, rows: Rows) -> list[ClaimLooks]:
        """Of the claims that the grid is about."""
        entries = self.grid.entries
        return [
            looks
            for looks in suite.looks_by_claim(rows)
            if all(
                label in entries and set(looks.claim.tasks) <= set(entries[label].tasks) for label in looks.claim.labels
            )
        ]

    def _store(self) -> Store:
        return Store(self.directory, write=True)

    def _suite(self, store: Store) -> StoredSuite:
        suite = self.grid.suite
        return StoredSuite(store, self.plugins, suite.name, suite.version, model=suite)
