"""Runs a suite until its claims are decided, adding replicates and sizes for the undecided claims only."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from bfc_bench.analysis.alpha_spending import LAST, schedule_from
from bfc_bench.analysis.claims import Claim
from bfc_bench.analysis.claims.mean_evidence import MIN_REPLICATES
from bfc_bench.analysis.interim_analyses import ClaimLooks, Look
from bfc_bench.analysis.sizes_needed import NewSizes, finer_sizes, sizes_beyond_grid
from bfc_bench.errors import UsageError
from bfc_bench.run.grid import Cell, Grid
from bfc_bench.run.options import RunOptions
from bfc_bench.run.plan import plan_for
from bfc_bench.run.session import Session, executor_and_device
from bfc_bench.store.export import FlatRecord, Records
from bfc_bench.store.rows import Rows
from bfc_bench.store.store import Store
from bfc_bench.stored_suite import StoredSuite
from bfc_bench.strategies.rounds import Rounds, results
from bfc_bench.utils.counted import counted


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
        return f"<{counted(len(self.sessions), 'run')}; {verdicts or 'no claim is about their cells'}>"

    def _repr_html_(self) -> str:
        return self.ended._repr_html_()

    @property
    def exit_code(self) -> int:
        """The largest exit code of the sessions: 0, 1 if a cell is not ok, 130 if interrupted."""
        return max((session.exit_code for session in self.sessions), default=0)


@dataclass
class UntilDecided:
    """The strategy that runs a grid, judges its claims at each look, and runs what the undecided ones need next.

    The confidence of each look is such that all looks hold together (``analysis.alpha_spending``). Looks follow from
    the rows (``analysis.interim_analyses``), so the same call continues an earlier one. An undecided claim gets more
    replicates of the cells that it reads. If it is judged by N*, it also gets sizes beyond the tested ones where N*
    lies there, and sizes between them where these narrow the interval more for each CPU second than replicates do. The
    rounds end when all claims are decided or have had all their looks, or when nothing more would help. Claims about
    learners or tasks that the grid lacks are ignored. Raises ``UsageError`` if ``last`` is too small for a verdict.
    """

    grid: Grid
    """That of the suite with ``looks``."""
    options: RunOptions
    last: float
    """No look has more replicates."""
    tell: Callable[[str], None] = lambda text: None
    """Called with what there is to say of a look."""
    looks: list[int] = field(init=False)
    """Of the suite, else of an earlier run, else from its replicates to ``last``; to ``LAST`` if that is infinite."""
    why_stuck: dict[str, str] = field(default_factory=dict)
    """Why more replicates would not decide a claim, by claim id."""

    def __post_init__(self) -> None:
        if self.last < MIN_REPLICATES:
            few = f"--up-to must be at least {MIN_REPLICATES}; fewer replicates give no verdict"
            raise UsageError(f"{few}. Got {self.last}.")
        suite = self.grid.suite
        with results(self.grid, self.options) as stored:
            looks = suite.looks or (stored and stored.looks)
        first = max(suite.replicates, MIN_REPLICATES)
        self.looks = looks or list(schedule_from(first, LAST if self.last == math.inf else int(self.last)))
        self.grid = replace(self.grid, suite=suite.model_copy(update={"looks": self.looks}))

    def rounds(self) -> Rounds:
        """The strategy: the suite as it is, then what the undecided claims need for their next look."""
        yield tuple(self.grid.cells())
        while cells := self._next_cells():
            yield cells

    def ended(self, stopped: str) -> Records[ClaimOutcome]:
        """State of each claim at the end; ``stopped`` says why the rounds ended early, if they did."""
        with results(self.grid, self.options) as suite:
            return Records(self._ended(suite, stopped) if suite else ())

    def _next_cells(self) -> list[Cell]:
        """The cells without a row that undecided claims need."""
        begun: dict[tuple[int, int, int], list[str]] = {}
        with results(self.grid, self.options) as suite:
            if suite is None:
                return []
            rows, cells = suite.columns(), dict[Cell, None]()
            for claim_looks in self._looks_by_claim(suite):
                cells |= dict.fromkeys(self._cells_of(suite, claim_looks, rows, begun))
            stored = suite.store.known_cells(suite.name, suite.version)
        for (number, of, replicates), claims in sorted(begun.items()):
            self.tell(f"Look {number} of {of}, at {replicates} replicates: {', '.join(claims)}.")
        return [cell for cell in cells if cell.id not in stored]

    def _cells_of(
        self, suite: StoredSuite, claim_looks: ClaimLooks, rows: Rows, begun: dict[tuple[int, int, int], list[str]]
    ) -> Iterator[Cell]:
        """The cells that a claim needs next: sizes for its last look, then the next look; notes the looks begun."""
        look, following = claim_looks.current_look, claim_looks.next_look
        if look and look.finding and look.finding.verdict == "undecided":
            more = list(self._more_sizes(suite, claim_looks, look, rows))
            if more or (following and self._is_stuck(suite, claim_looks, look)):
                yield from more
                return
        if following and following.replicates <= self.last:
            at = following.at.number, following.at.of, following.replicates
            begun.setdefault(at, []).append(claim_looks.claim.id)
            yield from (self.grid.cell(*curve, n, replicate) for curve, n, replicate in following.missing)
            yield from self._added(claim_looks.claim, following, rows)

    def _more_sizes(self, suite: StoredSuite, claim_looks: ClaimLooks, look: Look, rows: Rows) -> Iterator[Cell]:
        """The cells of a look at sizes beside those of the suite: those of earlier looks, else new ones.

        The first look adds none: it is at the suite as it is. Later ones add those that would narrow the interval of N*
        and decide.
        """
        if look.at.number == 1:
            return
        stored = suite.store.known_cells(suite.name, suite.version)
        before = [cell for cell in self._added(claim_looks.claim, look, rows) if cell.id not in stored]
        yield from before
        if before:
            return
        for new in self._possible_sizes(suite, look, claim_looks.claim_at_look):
            cells = [
                self.grid.cell(new.task, new.label, new.d, n, replicate)
                for n in new.sizes
                for replicate in range(look.counts[new.label])
            ]
            if sizes := sorted({cell.n for cell in cells if cell.id not in stored}):
                self.tell(f"{claim_looks.claim.id}: {new.says}: adds n = {', '.join(map(str, sizes))}.")
            yield from (cell for cell in cells if cell.id not in stored)

    def _added(self, claim: Claim, look: Look, rows: Rows) -> Iterator[Cell]:
        """The cells of a look at N* at sizes beside the suite's: those that all replicates of the first look have."""
        first = self.looks[0]
        for curve, own in look.sizes.items() if claim.n_star_level is not None else ():
            place = rows.positions_by_curve.get(curve, np.zeros(0, dtype=np.intp))
            begun = Counter(rows.n[place][rows.replicate[place] < first].tolist())
            for n in sorted(n for n, count in begun.items() if n not in own and count == first):
                yield from (self.grid.cell(*curve, n, replicate) for replicate in range(look.counts[curve[1]]))

    def _possible_sizes(self, suite: StoredSuite, look: Look, claim: Claim) -> list[NewSizes]:
        """The sizes that would narrow the interval of a claim that a look leaves undecided, and can be added.

        A look adds at most one size beyond those of a curve: where an N* is never reached, sizes grow without end.
        """
        assert look.finding is not None, "it was made"
        outside = sizes_beyond_grid(claim, look.rows, look.finding, look.more)
        possible = []
        for new in outside:
            own = look.sizes[new.task, new.label, new.d]
            tested = look.rows.where(task=new.task, label=new.label, d=new.d).n
            beyond = {n for n in tested.tolist() if not own[0] <= n <= own[-1]}
            if len(beyond) < look.at.number - 1 and not self._obstacle(suite.store, new, look.rows):
                possible.append(new)
        return possible or finer_sizes(claim, look.rows, look.more)

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
        plan = plan_for(self.grid, store, device, [cell], executor=executor)
        if reason := plan.skipped.get(cell) or plan.broken.get(cell):
            return reason
        seconds, budget = plan.seconds.get(cell.id, 0.0), self.grid.suite.budget.cell_seconds
        slow = f"a cell at n = {size} would take about {seconds:.0f} s; the budget is {budget:g} s"
        return slow if seconds > budget else ""

    def _is_stuck(self, suite: StoredSuite, claim_looks: ClaimLooks, look: Look) -> bool:
        """Whether neither replicates nor sizes would decide a claim after its last look; notes why in ``why_stuck``."""
        claim, finding = claim_looks.claim_at_look, look.finding
        assert finding is not None, "it was made"
        sizes = sizes_beyond_grid(claim, look.rows, finding, look.more)
        # Without N* there is no exponent, and so no estimate.
        if not finding.stuck and not (math.isnan(finding.estimate) and sizes):
            return False
        if not sizes and finer_sizes(claim, look.rows, look.more):
            return False
        obstacles = [self._obstacle(suite.store, beyond, look.rows) for beyond in sizes]
        reasons = [f"{beyond.says}, and {obstacle}" for beyond, obstacle in zip(sizes, obstacles, strict=True)]
        if stuck := all(obstacles):
            self.why_stuck[claim.id] = "; ".join(reasons) or finding.stuck
        return stuck

    def _ended(self, suite: StoredSuite, stopped: str) -> Iterator[ClaimOutcome]:
        verdicts = {verdict.id: verdict for verdict in suite.claims()}
        for claim_looks in self._looks_by_claim(suite):
            verdict = verdicts[claim_looks.claim.id]
            look, following = claim_looks.current_look, claim_looks.next_look
            if look and verdict.verdict != "undecided":
                why = "decided"
            elif following is None:
                why = f"no look is left: the last is at {self.looks[-1]} replicates"
            elif claim_looks.claim.id in self.why_stuck:
                why = self.why_stuck[claim_looks.claim.id]
            elif following.replicates > self.last:
                why = f"its next look is at {following.replicates} replicates"
            else:
                why = f"{stopped}, before look {following.at.number}"
            yield ClaimOutcome(claim_looks.claim.id, verdict.words, look.replicates if look else 0, why)

    def _looks_by_claim(self, suite: StoredSuite) -> list[ClaimLooks]:
        """The looks at each claim whose learners and tasks are all in the grid."""
        entries = self.grid.entries
        return [
            looks
            for looks in suite.looks_by_claim()
            if all(label in entries and {*looks.claim.tasks} <= {*entries[label].tasks} for label in looks.claim.labels)
        ]
