"""Runs a suite until its claims are decided, adding replicates and sizes for the undecided claims only.

A *look* is one interim analysis of a claim: a test that is made while replicates are still added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bfc_bench.analysis.claims import Claim, judge
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES
from bfc_bench.analysis.interim_analyses import ClaimLooks, Look
from bfc_bench.analysis.sizes_needed import NewSizes, finer_sizes, sizes_beyond_grid
from bfc_bench.errors import UsageError
from bfc_bench.plugins import load_plugins
from bfc_bench.run.grid import Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.plan import plan_for
from bfc_bench.run.session import Session, executor_and_device
from bfc_bench.store.export import FlatRecord, Records
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.strategies import Rounds


@dataclass(frozen=True, slots=True)
class ClaimOutcome(FlatRecord):
    """State of one claim at the end of the run."""

    claim: str
    verdict: str
    """The verdict as it must be quoted, with its look."""
    replicates: int
    """Replicates that the look read; 0 without a look."""
    why: str
    """Why nothing more was run for the claim."""


@dataclass(repr=False)
class Decided:
    """Result of a run until its claims are decided."""

    sessions: list[Session] = field(default_factory=list)
    """The run of the suite as it is, then one session per addition."""
    ended: Records[ClaimOutcome] = field(default_factory=Records)

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{outcome.claim}: {outcome.verdict}" for outcome in self.ended)
        return f"<{len(self.sessions)} runs; {verdicts or 'no claim is about their cells'}>"

    def _repr_html_(self) -> str:
        return self.ended._repr_html_()

    @property
    def exit_code(self) -> int:
        """The largest exit code of the sessions: 0, 1 if a cell is not ok, 130 if interrupted."""
        return max((session.exit_code for session in self.sessions), default=0)


@dataclass
class UntilDecided:
    """Runs a grid, judges its claims at a series of looks, and runs what the undecided claims need for the next look.

    The confidence of each look is such that all looks hold together (``analysis.alpha_spending``). The store records
    the looks, so the same call continues an earlier one. An undecided claim gets more replicates of the cells that it
    reads. If it is judged by N*, it also gets sizes beyond the tested ones where N* lies there, and sizes between them
    where these narrow the interval more for each CPU second than replicates do. The rounds end when all claims are
    decided or have had all their looks, or when nothing more would help. Claims about learners or tasks that the grid
    lacks are ignored.
    """

    grid: Grid
    options: RunOptions
    last: int
    tell: Callable[[str], None]
    """Called with what there is to say of a look."""
    why_stuck: dict[str, str] = field(default_factory=dict)
    """Why more replicates would not decide a claim, by claim id."""

    def __post_init__(self) -> None:
        if self.last < MIN_REPLICATES:
            few = f"--up-to must be at least {MIN_REPLICATES}; fewer replicates give no verdict"
            raise UsageError(f"{few}. Got {self.last}.")

    def rounds(self) -> Rounds:
        """The strategy: the suite as it is, then what the undecided claims need for their next look."""
        yield tuple(self.grid.cells())
        while looks := self._plan_looks():
            yield from self._make_looks(looks)

    def ended(self, stopped: str) -> Records[ClaimOutcome]:
        """State of each claim at the end; ``stopped`` says why the rounds ended early, if they did."""
        with self._opened() as (suite, rows):
            return Records(self._ended(suite, rows, stopped))

    def _plan_looks(self) -> list[Look]:
        """Plan the next look at each claim that is undecided and can still be decided.

        The store records the looks before their cells run, so that an interrupted run cannot repeat a look.
        """
        looks = []
        with self._opened() as (suite, rows):
            for claim_looks in self._looks_by_claim(suite, rows):
                next_look = self._next_look(claim_looks)
                if next_look is None or next_look.replicates > self.last:
                    continue
                if claim_looks.made and self._is_stuck(suite, claim_looks, rows):
                    continue
                reads = self._sizes_to_read(claim_looks, next_look)
                looks.append(replace(next_look, reads=reads, fewer=self._beaten(claim_looks, next_look, rows)))
            self._note(suite, looks)
        for number, of, replicates in sorted({(look.at.number, look.at.of, look.replicates) for look in looks}):
            claims = [look.claim for look in looks if (look.at.number, look.replicates) == (number, replicates)]
            self.tell(f"Look {number} of {of}, at {replicates} replicates: {', '.join(claims)}.")
        return looks

    def _next_look(self, claim_looks: ClaimLooks) -> Look | None:
        return claim_looks.next(max(self.grid.suite.replicates, MIN_REPLICATES), self.last)

    def _make_looks(self, looks: list[Look]) -> Rounds:
        """Ask for the cells that the looks need, then judge the claims."""
        yield from self._missing_cells(looks)
        beyond = True  # one size beyond the tested ones a look: where an N* is never reached, sizes grow without end
        while wider := self._with_more_sizes(looks, beyond):
            looks, beyond = wider, False
            yield from self._missing_cells(looks)
        with self._opened() as (suite, rows):
            claims = {claim_looks.claim.id: claim_looks.claim for claim_looks in self._looks_by_claim(suite, rows)}
            rows_by_claim = {look.claim: rows.at(look.row_mask(rows)) for look in looks}
            at_look = [claims[look.claim].at_look(look.at) for look in looks]
            verdicts = judge(at_look, rows, suite.theories, rows_by_claim)
            made = [replace(look, verdict=verdict.verdict) for look, verdict in zip(looks, verdicts, strict=True)]
            self._note(suite, made)

    def _missing_cells(self, looks: Iterable[Look]) -> Rounds:
        """The cells of the looks that have no row yet, in one round if there are any."""
        cells = dict.fromkeys(
            self.grid.cell(*curve, n, replicate)
            for look in looks
            for curve, sizes in look.reads.items()
            for n in sizes
            for replicate in range(look.replicates_of(curve))
        )
        with Store(Path(self.options.store)) as store:
            stored = store.known_cells(self.grid.suite.name, self.grid.suite.version)
        if missing := [cell for cell in cells if cell.id not in stored]:
            yield missing

    def _sizes_to_read(self, claim_looks: ClaimLooks, look: Look) -> dict[tuple[str, str, int], tuple[int, ...]]:
        """Sizes by (task, label, d): those of the grid that the claim is about, and those that earlier looks added."""
        tasks = {task.name: task for task in self.grid.suite.task}
        reads = {}
        for point in claim_looks.points:
            task = tasks[point.task]
            for label in claim_looks.claim.labels:
                max_n, max_d = self.grid.entries[label].max_n, self.grid.entries[label].max_d
                for d in [d for d in (task.d if point.d is None else (point.d,)) if d <= max_d]:
                    sizes = (
                        {*task.sizes(d), *look.reads.get((task.name, label, d), ())} if point.n is None else {point.n}
                    )
                    reads[task.name, label, d] = tuple(sorted(n for n in sizes if n <= max_n))
        return {curve: sizes for curve, sizes in reads.items() if sizes}

    def _beaten(self, claim_looks: ClaimLooks, look: Look, rows: Rows) -> dict[tuple[str, str, int], int]:
        """Replicates of the curves that need no more: those beaten at the confidence of this look and the one before.

        At the confidence of this look alone, its level would be spent on the replicates of both.
        """
        if not claim_looks.made:
            return {}
        before = claim_looks.made[-1]
        stricter = max(before.at, look.at, key=lambda at: at.confidence)
        open_ = claim_looks.claim.at_look(stricter).undecided_part(rows.at(before.row_mask(rows)))
        return {curve: before.replicates_of(curve) for curve in before.reads if curve[1] not in open_.labels}

    def _with_more_sizes(self, looks: Sequence[Look], beyond: bool) -> list[Look]:
        """The looks with sizes added where they would narrow the interval of N* and decide; empty if none can be added.

        ``beyond`` says whether a look may add sizes beyond the tested ones.
        """
        wider, added = [], False
        with self._opened() as (suite, rows):
            claims = {claim_looks.claim.id: claim_looks.claim for claim_looks in self._looks_by_claim(suite, rows)}
            for look in looks:
                reads = dict(look.reads)
                for new in self._possible_sizes(suite, look, claims[look.claim].at_look(look.at), rows, beyond):
                    curve = (new.task, new.label, new.d)
                    if sizes := sorted({*new.sizes} - {*reads[curve]}):
                        reads[curve] = tuple(sorted({*reads[curve], *sizes}))
                        self.tell(f"{look.claim}: {new.says}: adds n = {', '.join(map(str, sizes))}.")
                        added = True
                wider.append(replace(look, reads=reads))
            if added:
                self._note(suite, wider)
        return wider if added else []

    def _possible_sizes(self, suite: StoredSuite, look: Look, claim: Claim, rows: Rows, beyond: bool) -> list[NewSizes]:
        """The sizes that would narrow the interval of a claim that a look leaves undecided, and can be added.

        The first look adds none: it is at the suite as it is.
        """
        if look.at.number == 1:
            return []
        look_rows = rows.at(look.row_mask(rows))
        (verdict,) = judge([claim], rows, suite.theories, {claim.id: look_rows})
        if verdict.verdict != "undecided":
            return []
        outside = sizes_beyond_grid(claim, look_rows, verdict, look.more) if beyond else []
        possible = [new for new in outside if not self._obstacle(suite.store, new, look_rows)]
        return possible or finer_sizes(claim, look_rows, look.more)

    def _obstacle(self, store: Store, beyond: NewSizes, rows: Rows) -> str:
        """Why a size beyond the tested ones cannot be added: a limit of the learner, the task or a cell's budget; empty
        if it can."""
        (size,) = beyond.sizes
        limit = self.grid.entries[beyond.label].max_n
        if size > limit:
            return f"n = {size} is beyond its max_n"
        if problem := self.grid.tasks[beyond.task].check_size(size, self.grid.suite.test_size):
            return problem
        at_end = rows.where(task=beyond.task, label=beyond.label, d=beyond.d, n=beyond.near)
        if not at_end.ok.all():
            return f"cells at n = {beyond.near} are not ok"
        cell = self.grid.cell(beyond.task, beyond.label, beyond.d, size, 0)
        executor, device = executor_and_device(self.grid, self.options)
        plan = plan_for(replace(self.grid, only=(cell,)), store, device, executor=executor)
        if reason := plan.skipped.get(cell) or plan.broken.get(cell):
            return reason
        seconds, budget = plan.seconds.get(cell.id, 0.0), plan.common.cell_seconds
        slow = f"a cell at n = {size} would take about {seconds:.0f} s; the budget is {budget:g} s"
        return slow if seconds > budget else ""

    def _is_stuck(self, suite: StoredSuite, claim_looks: ClaimLooks, rows: Rows) -> bool:
        """Whether neither replicates nor sizes would decide a claim after its last look; notes why in ``why_stuck``."""
        look = claim_looks.made[-1]
        look_rows = rows.at(look.row_mask(rows))
        (verdict,) = judge([claim_looks.claim_at_look], rows, suite.theories, {claim_looks.claim.id: look_rows})
        sizes = sizes_beyond_grid(claim_looks.claim_at_look, look_rows, verdict, look.more)
        # Without N* there is no exponent, and so no estimate.
        if not verdict.stuck and not (math.isnan(verdict.estimate) and sizes):
            return False
        if not sizes and finer_sizes(claim_looks.claim_at_look, look_rows, look.more):
            return False
        obstacles = [self._obstacle(suite.store, beyond, look_rows) for beyond in sizes]
        reasons = [f"{beyond.says}, and {obstacle}" for beyond, obstacle in zip(sizes, obstacles, strict=True)]
        if stuck := all(obstacles):
            self.why_stuck[claim_looks.claim.id] = "; ".join(reasons) or verdict.stuck
        return stuck

    def _ended(self, suite: StoredSuite, rows: Rows, stopped: str) -> Iterator[ClaimOutcome]:
        verdicts = {verdict.id: verdict for verdict in suite.claims()}
        for claim_looks in self._looks_by_claim(suite, rows):
            verdict, next_look = verdicts[claim_looks.claim.id], self._next_look(claim_looks)
            if claim_looks.decided:
                why = "decided"
            elif next_look is None:
                why = f"no look is left: the first one planned them up to {claim_looks.made[-1].replicates} replicates"
            elif claim_looks.claim.id in self.why_stuck:
                why = self.why_stuck[claim_looks.claim.id]
            elif next_look.replicates > self.last:
                why = f"its next look is at {next_look.replicates} replicates"
            else:
                why = f"{stopped}, before look {next_look.at.number}"
            replicates = claim_looks.current_look.replicates if claim_looks.current_look else 0
            yield ClaimOutcome(claim_looks.claim.id, verdict.words, replicates, why)

    def _looks_by_claim(self, suite: StoredSuite, rows: Rows) -> list[ClaimLooks]:
        """The looks at each claim whose learners and tasks are all in the grid."""
        entries = self.grid.entries
        return [
            looks
            for looks in suite.looks_by_claim(rows)
            if all(label in entries and {*looks.claim.tasks} <= {*entries[label].tasks} for label in looks.claim.labels)
        ]

    @contextmanager
    def _opened(self) -> Iterator[tuple[StoredSuite, Rows]]:
        """The suite in its store, opened for writing, and its current rows."""
        suite = self.grid.suite
        with Store(Path(self.options.store), write=True) as store:
            stored = StoredSuite(store, self.options.plugins or load_plugins(), suite.name, suite.version, model=suite)
            yield stored, stored.columns()

    def _note(self, suite: StoredSuite, looks: Sequence[Look]) -> None:
        suite.store.put_looks(suite.name, suite.version, [look.as_dict() for look in looks])
