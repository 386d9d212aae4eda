"""What would decide a claim: a number of replicates, or sample sizes between which N* lies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.alpha_spending import LAST
from bfc_bench.analysis.claims import Claim, Verdict
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Word, short
from bfc_bench.analysis.curves import Curve, curves_of
from bfc_bench.analysis.interim_analyses import ClaimLooks
from bfc_bench.analysis.intervals import t_interval
from bfc_bench.analysis.thresholds import Threshold, threshold
from bfc_bench.store.export import FlatRecord
from bfc_bench.store.row import Row

MOSTLY = 0.5
"""Share of an interval from which on sizes are what to add, and not replicates."""


@dataclass(frozen=True, slots=True)
class BeyondSizes:
    """A curve whose N* lies beyond its tested sizes in some replicates."""

    task: str
    label: str
    d: int
    end: int
    """The tested size on the side of N*: the largest or the smallest."""
    size: int
    """The size to add, which continues the tested sizes geometrically."""
    says: str
    """The size beside which N* lies, the side, and in how many replicates."""

    def __str__(self) -> str:
        return self.says


def sizes_beyond_grid(claim: Claim, rows: Sequence[Row]) -> list[BeyondSizes]:
    """The curves of a claim whose N* lies beyond the tested sizes; sizes below 2 are not suggested."""
    beyond = []
    for curve, reached in _thresholds(claim, rows):
        n, shared = curve.n, curve.n[curve.shared]
        first, last = (shared[1] / shared[0], shared[-1] / shared[-2]) if len(shared) > 1 else (2.0, 2.0)
        above = (reached.right, "above", n[-1], n[-1] * last)
        below = (reached.left, "below", n[0], n[0] / first)
        for count, side, end, size in (above, below):
            if count and round(size) >= 2:
                says = (
                    f"{_n_star(curve, reached)} lies {side} n = {end} in {count} of {len(reached.crossings)} replicates"
                )
                beyond.append(BeyondSizes(curve.task, curve.label, curve.d, int(end), round(size), says))
    return beyond


def coarse_sizes(claim: Claim, rows: Sequence[Row]) -> Iterator[str]:
    """For each curve whose interval of N* is wide because sizes are far apart: between which to add some.

    The share of the width that sizes make is what Student's interval of the middles of the steps leaves.
    """
    for curve, reached in _thresholds(claim, rows):
        steps = [crossing.within for crossing in reached.crossings if crossing.within]
        width = math.log(reached.interval.hi / reached.interval.lo) if reached.interval.lo > 0 else math.nan
        if not steps or not width > 0:
            continue
        middles = t_interval(np.log([crossing.n for crossing in reached.crossings]))
        if (share := 1 - (middles.hi - middles.lo) / width) > MOSTLY:
            ends = f"n = {min(lo for lo, _ in steps):.0f} and {max(hi for _, hi in steps):.0f}"
            yield (
                f"add sizes between {ends} (--resolve 1.1): steps between sizes make {share:.0%} of the interval of "
                f"{_n_star(curve, reached)}"
            )


def _thresholds(claim: Claim, rows: Sequence[Row]) -> Iterator[tuple[Curve, Threshold]]:
    """The curves that a claim about N* reads, and their N*."""
    claim, level = claim.about(rows), claim.n_star_level
    if level is None:
        return
    for point in claim.points(rows):
        for name in claim.predictors:
            for curve in curves_of(rows, name, point.task, getattr(claim, "metric", "nmse"), point.d):
                yield curve, threshold(curve, level)


def _n_star(curve: Curve, reached: Threshold) -> str:
    return f"N*({short(reached.level)}) of {curve.name} at d = {curve.d}"


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
    claim_looks: ClaimLooks, verdict: Verdict, rows: Sequence[Row], first: int, last: int = LAST
) -> ReplicatesNeeded:
    """What would decide a claim."""
    next_look = claim_looks.next(max(first, MIN_REPLICATES), last)
    look = claim_looks.current_look or next_look
    looks = () if look is None else look.looks.schedule
    return ReplicatesNeeded(
        verdict.id, verdict.verdict, verdict.replicates, verdict.needed, verdict.look, len(looks),
        None if next_look is None else next_look.replicates, _in_words(claim_looks, verdict, rows, next_look is None),
    )  # fmt: skip


def _in_words(claim_looks: ClaimLooks, verdict: Verdict, rows: Sequence[Row], all_made: bool) -> str:
    if verdict.verdict != "undecided":
        return f"decided {verdict.when}".rstrip()
    if not verdict.replicates:
        return verdict.note or "no results yet"
    sizes = [f"{beyond}: add n = {beyond.size}" for beyond in sizes_beyond_grid(claim_looks.claim, rows)]
    sizes = sizes or list(coarse_sizes(claim_looks.claim, rows))
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
