"""The looks at each claim of a suite: the rows that it is judged on, and what is left to spend.

A look reads some points of the grid, in the replicates that had been run when it was made. So what is added for one
claim moves no verdict on another, and a claim that was decided stays so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from bfc_bench.analysis.alpha_spending import LAST, LookSchedule, schedule_from
from bfc_bench.analysis.claims import Claim, Point, Verdict
from bfc_bench.analysis.claims.verdict import LookLevel, Word
from bfc_bench.store.rows import Rows
from bfc_bench.utils.plain_json import digest

Curve: TypeAlias = tuple[str, str, int]
"""Task, label and d."""
Reads: TypeAlias = Mapping[Curve, tuple[int, ...]]
"""The sizes that are read, by curve."""

UNDECIDED: Word = "undecided"
UNSAID = frozenset({"id", "source", "sanity"})
"""Fields that are no part of what a claim says."""


@dataclass(frozen=True, slots=True)
class Look:
    """One look at one claim: planned before its cells are run, made when the claim is judged."""

    claim: str
    """Its id."""
    content: str
    """A digest of what it says, whatever its id."""
    data: str
    """A digest of the definitions of its tasks and learners, and of its points."""
    replicates: int
    """Those below this number are read."""
    reads: Reads
    looks: LookSchedule
    """The schedule, with the looks made before this one."""
    verdict: Word | None = None
    """None while it is planned."""

    @property
    def at(self) -> LookLevel:
        """Number and confidence."""
        schedule = self.looks.schedule
        return LookLevel(schedule.index(self.replicates) + 1, len(schedule), self.looks.confidence_at(self.replicates))

    def sees(self, rows: Rows) -> np.ndarray:
        """Which rows it reads, (N,)."""
        seen, n = np.zeros(len(rows), dtype=bool), rows.n
        for curve, sizes in self.reads.items():
            if curve in rows.places:
                at = rows.places[curve]
                seen[at] = np.isin(n[at], sizes)
        return seen & (rows.replicate < self.replicates)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for the store, from which ``of`` makes it again."""
        reads = [[*curve, list(sizes)] for curve, sizes in self.reads.items()]
        return asdict(self) | {"reads": reads, "looks": self.looks.as_dict()}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Look:
        """From what ``as_dict`` gave."""
        reads = {(task, label, d): tuple(sizes) for task, label, d, sizes in record["reads"]}
        return cls(**{**record, "reads": reads, "looks": LookSchedule.of(record["looks"])})


@dataclass(frozen=True)
class ClaimLooks:
    """A claim with the looks that were planned and made at it, or at what it said under another id."""

    claim: Claim
    content: str
    data: str
    points: tuple[Point, ...]
    """Which it is about."""
    held: tuple[Look, ...]
    """Looks at the same data, in the order of their replicates."""
    elsewhere: int = 0
    """Looks that were made at other data: under other definitions, with another seed."""

    @property
    def made(self) -> tuple[Look, ...]:
        """The looks made."""
        return tuple(look for look in self.held if look.verdict is not None)

    @property
    def decided(self) -> Look | None:
        """The look at which it was decided, what it says being the same."""
        found = (look for look in self.made if look.content == self.content and look.verdict != UNDECIDED)
        return next(found, None)

    @property
    def stand(self) -> Look | None:
        """The look that its verdict comes from: the one that decided it, else the last."""
        return self.decided or (self.made[-1] if self.made else None)

    @property
    def judged(self) -> Claim:
        """The claim as it is judged now."""
        return self.claim if self.stand is None else self.claim.at_look(self.stand.at)

    def next(self, first: int, last: int = LAST) -> Look | None:
        """The look to make next, its ``reads`` those of the look before; None where all are made, or it is decided.

        ``first`` and ``last`` give the schedule of a claim that has none yet; afterwards it stays what it was.
        """
        if self.decided:
            return None
        looks = self.made[0].looks if self.made else LookSchedule(schedule_from(first, last))
        done = max((look.replicates for look in self.made), default=0)
        looks = replace(looks, made=tuple(r for r in looks.schedule if r <= done))
        if looks.next is None:
            return None
        reads = self.held[-1].reads if self.held else {}
        return Look(self.claim.id, self.content, self.data, looks.next, reads, looks)

    def remarked(self, verdict: Verdict) -> Verdict:
        """The verdict with what its reader must know of the looks."""
        notes = []
        if self.decided and self.decided.verdict != verdict.verdict:
            notes.append(f"was {self.decided.verdict} when the look was made; rows were made again since")
        if self.elsewhere:
            notes.append(f"looks before, under other definitions or with another seed: {self.elsewhere}")
        return replace(verdict, note="; ".join([*notes, *[verdict.note] * bool(verdict.note)])) if notes else verdict


def looks_by_claim(
    claims: Iterable[Claim],
    rows: Rows,
    held: Sequence[Look],
    digests: Mapping[tuple[str, str], str],
    suite: Mapping[str, Any],
) -> list[ClaimLooks]:
    """One per claim. ``held`` are all looks of the suite, ``digests`` those of its tasks and learners, by kind and
    name; ``suite`` is its definition.

    A claim that only changed its id goes on with its looks, and so does one that says something else under the same id.
    """
    own = of_the_grid(rows, held, suite)
    found = []
    for claim in claims:
        points = tuple(claim.points(own))
        said = {name: value for name, value in claim.changed().items() if name not in UNSAID}
        content = digest([claim.kind, said])
        names = sorted([*(("task", task) for task in claim.tasks), *(("learner", label) for label in claim.labels)])
        data = digest([[*name, digests.get(name)] for name in names] + [str(point) for point in points])
        about = [look for look in held if look.claim == claim.id or look.content == content]
        here = {look.replicates: look for look in about if look.data == data}
        here |= {look.replicates: look for look in about if look.data == data and look.content == content}
        elsewhere = sum(look.data != data and look.verdict is not None for look in about)
        found.append(ClaimLooks(claim, content, data, points, tuple(here[r] for r in sorted(here)), elsewhere))
    return found


def of_the_grid(rows: Rows, held: Iterable[Look], suite: Mapping[str, Any]) -> Rows:
    """The rows without those that were added for looks, beyond the suite's own sizes and replicates."""
    looks = list(held)
    if not looks or not len(rows):
        return rows
    sizes = {task["name"]: task["n"] for task in suite["task"]}
    beyond, n, added = rows.replicate >= suite["replicates"], rows.n, np.zeros(len(rows), dtype=bool)
    for (task, _, _), at in rows.places.items():
        beyond[at] |= ~np.isin(n[at], sizes.get(task, ()))
    for look in looks:
        added |= look.sees(rows)
    return rows.at(~(beyond & added))
