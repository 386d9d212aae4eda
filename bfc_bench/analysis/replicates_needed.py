"""What it would take to decide a claim: more replicates, or sizes at which N* can be seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bfc_bench.analysis.alpha_spending import LAST
from bfc_bench.analysis.claims import Claim, Verdict
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Word, short
from bfc_bench.analysis.curves import curves_of
from bfc_bench.analysis.interim_analyses import ClaimLooks
from bfc_bench.analysis.thresholds import crossings
from bfc_bench.store.row import Row


@dataclass(frozen=True, slots=True)
class BeyondSizes:
    """N* of a curve that lies beyond its tested sizes, in some replicates."""

    task: str
    label: str
    d: int
    name: str
    """The label, or ``LABEL/STAGE``."""
    level: float
    side: Literal["above", "below"]
    end: int
    """The largest or smallest tested size."""
    size: int
    """The one to add: the sizes continued geometrically."""
    count: int
    replicates: int

    def __str__(self) -> str:
        return (
            f"N*({short(self.level)}) of {self.name} at d = {self.d} lies {self.side} n = {self.end} in "
            f"{self.count} of {self.replicates} replicates"
        )


def unseen(claim: Claim, rows: Sequence[Row]) -> list[BeyondSizes]:
    """Where the tested sizes end before N* does, of a claim that is judged by it; at n = 2 nothing smaller is added."""
    claim, level = claim.about(rows), claim.n_star_level
    if level is None:
        return []
    found = []
    for point in claim.points(rows):
        for name in claim.predictors:
            for curve in curves_of(rows, name, point.task, getattr(claim, "metric", "nmse"), point.d):
                sizes, reached = curve.n.tolist(), crossings(curve, level)
                for side, censored, size in (("above", "right", _above(sizes)), ("below", "left", _below(sizes))):
                    count = sum(crossing.censored == censored for crossing in reached)
                    if count and size >= 2:
                        end = sizes[-1] if side == "above" else sizes[0]
                        where = (point.task, curve.label, curve.d, name, level, side, end, size)
                        found.append(BeyondSizes(*where, count, len(reached)))  # type: ignore[arg-type]
    return found


def _above(sizes: Sequence[int]) -> int:
    ratio = sizes[-1] / sizes[-2] if len(sizes) > 1 else 2.0
    return max(round(sizes[-1] * ratio), sizes[-1] + 1)


def _below(sizes: Sequence[int]) -> int:
    ratio = sizes[1] / sizes[0] if len(sizes) > 1 else 2.0
    return min(round(sizes[0] / ratio), sizes[0] - 1)


@dataclass(frozen=True, slots=True)
class ReplicatesNeeded:
    """What is known of one claim, and what would decide it."""

    id: str
    verdict: Word
    replicates: int
    """So far."""
    needed: float
    """Replicates that would just decide it at the estimate and the spread seen so far; inf where no number would, nan
    where nothing is known."""
    look: int
    """Which look the verdict comes from; 0 where none was made."""
    looks: int
    """How many are planned."""
    next_look: int | None
    """Replicates at the next look; None where it is decided or all are made."""
    says: str
    """In words."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record."""
        return asdict(self)


def replicates_needed(
    claim_looks: ClaimLooks, verdict: Verdict, rows: Sequence[Row], first: int, last: int = LAST
) -> ReplicatesNeeded:
    """What would decide a claim whose ``verdict`` comes from ``rows``, of a suite that has ``first`` replicates."""
    coming = claim_looks.next(max(first, MIN_REPLICATES), last)
    look = claim_looks.stand or coming
    looks = () if look is None else look.looks.schedule
    return ReplicatesNeeded(
        verdict.id, verdict.verdict, verdict.replicates, verdict.needed, verdict.look, len(looks),
        None if coming is None else coming.replicates, _in_words(claim_looks, verdict, rows, coming is None),
    )  # fmt: skip


def _in_words(claim_looks: ClaimLooks, verdict: Verdict, rows: Sequence[Row], all_made: bool) -> str:
    if verdict.verdict != "undecided":
        return f"decided {verdict.when}".rstrip()
    if not verdict.replicates:
        return verdict.note or "no results yet"
    sizes = [f"{where}: add n = {where.size}" for where in unseen(claim_looks.claim, rows)]
    if verdict.stuck and not sizes:
        return verdict.stuck
    if sizes:
        words = sizes
    elif math.isnan(verdict.needed):
        words = [verdict.note or f"{MIN_REPLICATES} replicates are needed for any verdict"]
    elif math.isinf(verdict.needed):
        words = ["the estimate lies on the bound: no number of replicates would decide it"]
    else:
        words = [f"{verdict.needed:.0f} replicates would decide it at the spread seen"]
    return "; ".join([*words, *[f"all {verdict.looks} looks are made"] * all_made])
