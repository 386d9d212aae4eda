"""What would decide a claim: a number of replicates, or sample sizes between which N* lies."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bfc_bench.analysis.alpha_spending import LAST
from bfc_bench.analysis.claims import Claim, Verdict
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Word
from bfc_bench.analysis.interim_analyses import ClaimLooks
from bfc_bench.analysis.sizes_needed import finer_sizes, sizes_beyond_grid
from bfc_bench.store.export import FlatRecord
from bfc_bench.store.rows import Rows


@dataclass(frozen=True, slots=True)
class ReplicatesNeeded(FlatRecord):
    """The state of one claim, and what would decide it."""

    id: str
    verdict: Word
    replicates: int
    """Replicates so far."""
    needed: float
    """Replicates that would just decide it at this estimate and spread; inf if no number would, nan if unknown."""
    look: int
    """Number of the look (interim analysis) that gave the verdict; 0 if none was made."""
    looks: int
    """How many looks are planned."""
    next_look: int | None
    """Replicates at the next look; None if the claim is decided or all looks are made."""
    says: str
    """What would decide the claim, in words."""


def replicates_needed(
    claim_looks: ClaimLooks, verdict: Verdict, rows: Rows, first: int, last: int = LAST
) -> ReplicatesNeeded:
    """What would decide a claim."""
    next_look = claim_looks.next(max(first, MIN_REPLICATES), last)
    look = claim_looks.current_look or next_look
    looks = () if look is None else look.looks.schedule
    words = _in_words(claim_looks.claim_at_look, verdict, rows, 0 if look is None else look.more)
    if next_look is None and verdict.verdict == "undecided" and not claim_looks.decided:
        words += f"; no look is left: the first one planned them up to {looks[-1]} replicates"
    return ReplicatesNeeded(
        verdict.id, verdict.verdict, verdict.replicates, verdict.needed, verdict.look, len(looks),
        None if next_look is None else next_look.replicates, words,
    )  # fmt: skip


def _in_words(claim: Claim, verdict: Verdict, rows: Rows, more: int) -> str:
    """What would decide a claim, if the look after this one adds ``more`` replicates."""
    if verdict.verdict != "undecided":
        return f"decided {verdict.when}".rstrip()
    if sizes := sizes_beyond_grid(claim, rows, verdict, more) or finer_sizes(claim, rows, more):
        return "; ".join(f"{new.says}: add n = {', '.join(map(str, new.sizes))}" for new in sizes)
    if not verdict.replicates:
        return verdict.note or "no results yet"
    if verdict.stuck or math.isinf(verdict.needed):
        return verdict.stuck or "the estimate lies on the bound: no number of replicates would decide it"
    if math.isnan(verdict.needed):
        return verdict.note or f"{MIN_REPLICATES} replicates are needed for any verdict"
    return f"{verdict.needed:.0f} replicates would decide it at the spread seen"
