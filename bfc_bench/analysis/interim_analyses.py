"""Interim analyses (*looks*) of the claims of a suite: which rows each look reads, and at what confidence.

A look is one test of a claim while replicates are still added. It reads some points of the grid, in the replicates that
existed when it was made. Rows added for one claim therefore change no other verdict, and a decided claim stays decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from bfc_bench.analysis.alpha_spending import LAST, LookSchedule, schedule_from
from bfc_bench.analysis.claims import Claim, Point
from bfc_bench.analysis.claims.verdict import LookLevel, Word
from bfc_bench.store.rows import Rows
from bfc_bench.suite.sizes import sizes_at
from bfc_bench.utils.plain_json import digest

Curve: TypeAlias = tuple[str, str, int]
"""Task, label and d."""
SizesByCurve: TypeAlias = Mapping[Curve, tuple[int, ...]]
"""Sample sizes n by curve."""

UNDECIDED: Word = "undecided"
NOT_CONTENT = frozenset({"id", "source", "sanity"})
"""Fields of a claim that do not change its statement."""


@dataclass(frozen=True, slots=True)
class Look:
    """One interim analysis of one claim: planned before its cells run, made when the claim is judged."""

    claim: str
    """Id of the claim."""
    content: str
    """Digest of the claim's statement, without its id and source."""
    data: str
    """Digest of the definitions of the claim's tasks and learners, and of its points."""
    replicates: int
    """The look reads replicates 0 to ``replicates`` - 1."""
    reads: SizesByCurve
    """The sizes that the look reads."""
    looks: LookSchedule
    """The schedule, with the looks made before this one."""
    verdict: Word | None = None
    """None until the look is made."""
    allows_skewness: bool = False
    """Whether its interval allows for skewed values; False for records without this field, so that a claim that was
    decided before the field existed stays decided."""
    fewer: Mapping[Curve, int] = field(default_factory=dict)
    """Replicates of curves where the look reads fewer than ``replicates``: of learners that were beaten before."""

    @property
    def at(self) -> LookLevel:
        """Number and confidence of the look."""
        schedule = self.looks.schedule
        number, confidence = schedule.index(self.replicates) + 1, self.looks.confidence_at(self.replicates)
        return LookLevel(number, len(schedule), confidence, self.allows_skewness)

    @property
    def more(self) -> int:
        """How many replicates the look after this one adds; 0 if it is the last."""
        return next((r - self.replicates for r in self.looks.schedule if r > self.replicates), 0)

    def row_mask(self, rows: Rows) -> np.ndarray:
        """Mask (N,) of the rows that the look reads."""
        read, n, replicate = np.zeros(len(rows), dtype=bool), rows.n, rows.replicate
        for curve, sizes in self.reads.items():
            if curve in rows.positions_by_curve:
                at = rows.positions_by_curve[curve]
                read[at] = np.isin(n[at], sizes) & (replicate[at] < self.replicates_of(curve))
        return read

    def replicates_of(self, curve: Curve) -> int:
        """The look reads the replicates of a curve below this number."""
        return self.fewer.get(curve, self.replicates)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the store, which ``of`` reads back."""
        reads = [[*curve, list(sizes)] for curve, sizes in self.reads.items()]
        fewer = [[*curve, replicates] for curve, replicates in self.fewer.items()]
        return asdict(self) | {"reads": reads, "fewer": fewer}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Look:
        """The look that ``as_dict`` returned ``record`` for."""
        reads = {(task, label, d): tuple(sizes) for task, label, d, sizes in record["reads"]}
        fewer = {(task, label, d): replicates for task, label, d, replicates in record.get("fewer", ())}
        return cls(**{**record, "reads": reads, "fewer": fewer, "looks": LookSchedule.of(record["looks"])})


@dataclass(frozen=True)
class ClaimLooks:
    """A claim with its looks, also those under another id with the same statement."""

    claim: Claim
    content: str
    data: str
    points: tuple[Point, ...]
    """Points of the grid that the claim is about."""
    looks: tuple[Look, ...]
    """Planned and made looks at the current data, by number of replicates."""
    made_at_other_data: int = 0
    """Number of looks made under other definitions or with another seed."""

    @property
    def made(self) -> tuple[Look, ...]:
        """The looks made."""
        return tuple(look for look in self.looks if look.verdict is not None)

    @property
    def decided(self) -> Look | None:
        """The first look that decided the claim with its current statement; None if there is none."""
        deciding = (look for look in self.made if look.content == self.content and look.verdict != UNDECIDED)
        return next(deciding, None)

    @property
    def current_look(self) -> Look | None:
        """The look that gives the verdict: the one that decided the claim, else the last one made."""
        return self.decided or (self.made[-1] if self.made else None)

    @property
    def claim_at_look(self) -> Claim:
        """The claim at the confidence of the look that gives its verdict."""
        return self.claim if self.current_look is None else self.claim.at_look(self.current_look.at)

    def next(self, first: int, last: int = LAST) -> Look | None:
        """The next look, with the ``reads`` of the look before; None if the claim is decided or all looks are made.

        ``first`` and ``last`` are the replicates at the first and last look of a claim that has no schedule yet. The
        first look fixes the schedule.
        """
        if self.decided:
            return None
        schedule = self.made[0].looks if self.made else LookSchedule(schedule_from(first, last))
        done = max((look.replicates for look in self.made), default=0)
        schedule = replace(schedule, made=tuple(r for r in schedule.schedule if r <= done))
        if schedule.next is None:
            return None
        reads = self.looks[-1].reads if self.looks else {}
        return Look(self.claim.id, self.content, self.data, schedule.next, reads, schedule, allows_skewness=True)

    def notes(self, word: Word) -> Iterator[str]:
        """Anything unusual about the looks of a claim whose verdict is ``word`` now."""
        if self.decided and self.decided.verdict != word:
            yield f"was {self.decided.verdict} when the look was made; some of its cells were run again since"
        if self.made_at_other_data:
            yield f"looks before, under other definitions or with another seed: {self.made_at_other_data}"


def looks_by_claim(
    claims: Iterable[Claim],
    rows: Rows,
    looks: Sequence[Look],
    digests: Mapping[tuple[str, str], str],
    suite: Mapping[str, Any],
) -> list[ClaimLooks]:
    """The looks at each claim.

    A claim keeps its looks if only its id changes, and also if its statement changes under the same id.

    Args:
        claims: Claims of the suite.
        rows: Current rows of the suite.
        looks: All looks of the suite in the store.
        digests: Digests of the suite's tasks and learners, by (kind, name).
        suite: The suite's definition.
    """
    grid_rows = without_added_rows(rows, looks, suite)
    result = []
    for claim in claims:
        points = tuple(claim.points(grid_rows))
        statement = {name: value for name, value in claim.changed().items() if name not in NOT_CONTENT}
        content = digest([claim.kind, statement])
        names = sorted([*(("task", task) for task in claim.tasks), *(("learner", label) for label in claim.labels)])
        data = digest([[*name, digests.get(name)] for name in names] + [str(point) for point in points])
        own = [look for look in looks if look.claim == claim.id or look.content == content]
        current = {look.replicates: look for look in own if look.data == data}
        # A look with the same statement takes precedence over one that only has the same id.
        current |= {look.replicates: look for look in own if look.data == data and look.content == content}
        at_other_data = sum(look.data != data and look.verdict is not None for look in own)
        in_order = tuple(current[r] for r in sorted(current))
        result.append(ClaimLooks(claim, content, data, points, in_order, at_other_data))
    return result


def without_added_rows(rows: Rows, looks: Iterable[Look], suite: Mapping[str, Any]) -> Rows:
    """The rows without those that were added for looks beyond the suite's own sizes and replicates."""
    looks = list(looks)
    if not looks or not len(rows):
        return rows
    tasks = {task["name"]: task for task in suite["task"]}
    beyond, n, added = rows.replicate >= suite["replicates"], rows.n, np.zeros(len(rows), dtype=bool)
    for (task, _, d), at in rows.positions_by_curve.items():
        beyond[at] |= ~np.isin(n[at], _sizes(tasks[task], d) if task in tasks else ())
    for look in looks:
        added |= look.row_mask(rows)
    return rows.at(~(beyond & added))


def _sizes(task: Mapping[str, Any], d: int) -> Sequence[int]:
    """The sizes of a task at one d; none at a d of an earlier run, for which the task has no sizes any more."""
    try:
        return sizes_at(task["n"], {"d": d, **(task.get("axes") or {})})
    except ValueError:
        return ()
