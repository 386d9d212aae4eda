"""What would decide a claim: a number of replicates, or sample sizes between which N* lies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bfc_bench.analysis.claims import Claim, Verdict
from bfc_bench.analysis.claims.mean_evidence import MIN_REPLICATES, Word
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
    claim_looks: ClaimLooks, verdict: Verdict, rows: Rows, planned: Sequence[int]
) -> ReplicatesNeeded:
    """What would decide a claim; ``planned`` are the replicates at the looks of ``run --until-decided``."""
    look, following = claim_looks.current_look, claim_looks.next_look
    before_next = look or following
    more = before_next.more if before_next else 0 if len(planned) == 1 else planned[1] - planned[0]
    words = _in_words(claim_looks.claim_at_look, verdict, rows, more)
    at = following.replicates if following else None if claim_looks.looks else planned[0]
    if at is None and verdict.verdict == "undecided":
        words += f"; no look is left: the last is at {planned[-1]} replicates"
    needed = math.nan if not verdict.replicates and _lacks_rows(claim_looks.claim, rows) else verdict.needed
    return ReplicatesNeeded(
        verdict.id, verdict.verdict, verdict.replicates, needed, verdict.look, len(planned), at, words,
    )  # fmt: skip


def _lacks_rows(claim: Claim, rows: Rows) -> bool:
    """Whether a learner has no cell yet, not even a failed one, at a point that the claim reads."""
    return any(
        not len(rows.where(task=point.task, label=label, d=point.d, n=point.n))
        for point in claim.points(rows)
        for label in claim.labels
    )


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
