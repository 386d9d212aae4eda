"""The number of replicates that would decide a claim if estimate and spread stayed the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Evidence, Region, Side
from bfc_bench.analysis.intervals import CONFIDENCE, MIN_SKEWED

MAX_REPLICATES = 10**6
"""An estimate that would need more replicates counts as lying on the bound."""
MAX_TRIALS = 10**5


@dataclass(frozen=True, slots=True)
class ReplicatesToDecide:
    """How many replicates would decide a claim."""

    needed: float = math.nan
    """Replicates at which the interval just decides; inf if no number is enough, nan if unknown."""
    stuck: str = ""
    """Why no number is enough, at any estimate; empty if one is, or if the estimate merely lies on the bound."""


def replicates_to_decide(
    region: Region, quantities: Sequence[tuple[str, Evidence]], confidence: float = CONFIDENCE
) -> ReplicatesToDecide:
    """The smallest R at which the interval of this estimate, spread and skewness no longer contains the bound.

    Student's interval is estimate ± t_{R-1} s / sqrt(R), and for a known spread s this is R = (z s / distance)^2. With
    that many replicates the claim is decided with a probability of about one half, because the estimate will change.
    """
    pieces = [piece for _, piece in quantities]
    if any(reasons := [reason for piece in pieces if (reason := _why_never(piece))]):
        return ReplicatesToDecide(math.inf, "; ".join(dict.fromkeys(reasons)))
    if any(math.isnan(piece.mean + piece.error) for piece in pieces):
        return ReplicatesToDecide()
    to_decide = _from_means(region, pieces, confidence)
    if to_decide.needed > min(piece.count for piece in pieces):
        fixed = next((piece.fixed for piece in pieces if piece.fixed), "")
        return ReplicatesToDecide(math.inf, to_decide.stuck or fixed) if fixed else to_decide
    return to_decide


def _from_means(region: Region, pieces: Sequence[Evidence], confidence: float) -> ReplicatesToDecide:
    """The same for pieces that all have a mean and a standard error."""
    if all(region.lo <= piece.mean <= region.hi for piece in pieces) and region.lo < region.hi:
        per_bound = [needs for piece in pieces for needs in _inside(region, piece, confidence)]
        return max(per_bound, key=lambda needs: (bool(needs.stuck), needs.needed))
    each = 1 - (1 - confidence) / len(pieces)
    per_bound = [needs for piece in pieces for needs in _outside(region, piece, each)]
    return min(per_bound, key=lambda needs: needs.needed, default=ReplicatesToDecide(math.inf))


def trials_to_decide(reached: int, trials: int, share: float, confidence: float = CONFIDENCE) -> float:
    """The smallest number of trials at which the Clopper-Pearson interval of the observed share decides."""
    from scipy import special, stats

    if not trials:
        return math.nan
    observed, tail = reached / trials, (1 - confidence) / 2
    distance = abs(observed - share)
    about = share * (1 - share) * (special.ndtri(tail) / distance) ** 2 if distance else math.inf
    if about > MAX_TRIALS:
        return math.inf
    first = 1 if about < 1000 else int(about / 2)
    while True:
        counts = np.arange(first, 2 * first)
        low, high = np.floor(counts * observed + 1e-9), np.ceil(counts * observed - 1e-9)
        decided = (stats.binom.sf(low - 1, counts, share) <= tail) | (stats.binom.cdf(high, counts, share) <= tail)
        if decided.any():
            return float(counts[np.argmax(decided)])
        first *= 2


def _why_never(piece: Evidence) -> str:
    """Why there is no interval with any number of replicates; empty if there may be one."""
    few = 0 < piece.count < MIN_REPLICATES or math.isnan(piece.mean)
    return piece.refused if piece.refused and (piece.count == 0 or not few) else ""


def _inside(region: Region, piece: Evidence, confidence: float) -> Iterator[ReplicatesToDecide]:
    """For each bound, the replicates at which the interval lies inside of it."""
    if math.isfinite(region.lo):
        yield _until_clear(piece, piece.mean - region.lo, "below", confidence)
    if math.isfinite(region.hi):
        yield _until_clear(piece, region.hi - piece.mean, "above", confidence)


def _outside(region: Region, piece: Evidence, confidence: float) -> Iterator[ReplicatesToDecide]:
    """For the bound that the estimate is beyond, the replicates at which the interval lies outside."""
    if piece.mean >= region.hi:
        yield _until_clear(piece, piece.mean - region.hi, "below", confidence)
    if piece.mean <= region.lo:
        yield _until_clear(piece, region.lo - piece.mean, "above", confidence)


def _until_clear(piece: Evidence, distance: float, side: Side, confidence: float) -> ReplicatesToDecide:
    """The smallest R at which the interval ends, on one side, before a bound at a ``distance`` from the mean."""
    if piece.open_below if side == "below" else piece.open_above:
        because = f" ({'; '.join(piece.notes)})" if piece.notes else ""
        return ReplicatesToDecide(math.inf, f"the interval is open {side}, however many replicates there are{because}")

    def undecided_at(count: int) -> bool:
        degrees = piece.degrees + piece.gain * (count - piece.count)
        return degrees < 1 or piece.reach(side, confidence, count) > distance

    if not distance > 0 or undecided_at(MAX_REPLICATES):
        return ReplicatesToDecide(math.inf)
    too_few, enough = MIN_REPLICATES - 1, MAX_REPLICATES
    if not math.isnan(piece.skewness):
        # From 5 replicates on the interval allows for skewness, so it is wider there than at 4.
        if piece.count < MIN_SKEWED and (few := [r for r in range(MIN_REPLICATES, MIN_SKEWED) if not undecided_at(r)]):
            return ReplicatesToDecide(float(few[0]))
        too_few = MIN_SKEWED - 1
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (middle, enough) if undecided_at(middle) else (too_few, middle)
    return ReplicatesToDecide(float(enough))
