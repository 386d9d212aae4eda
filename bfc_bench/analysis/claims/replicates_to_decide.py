"""The number of replicates that would decide a claim if estimate and spread stayed the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Evidence, Region
from bfc_bench.analysis.intervals import CONFIDENCE, t_quantile

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
    """The smallest R at which the interval, estimate ± t_{R-1} s / sqrt(R), no longer contains the bound.

    For a known spread s this is R = (z s / distance)^2. With that many replicates the claim is decided with a
    probability of about one half, because the estimate will change.

    Args:
        region: Allowed values.
        quantities: Name and evidence of each quantity, as for ``verdict.decide``.
        confidence: Confidence of the interval.
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


def trials_to_decide(reached: int, trials: int, share: float, confidence: float = CONFIDENCE) -> ReplicatesToDecide:
    """The smallest number of trials at which the Clopper-Pearson interval of the observed share decides.

    Args:
        reached: Number of trials that succeeded.
        trials: Number of trials so far.
        share: The bound on the probability of success.
        confidence: Confidence of the interval.
    """
    from scipy import special, stats

    if not trials:
        return ReplicatesToDecide()
    observed, tail = reached / trials, (1 - confidence) / 2
    distance = abs(observed - share)
    about = share * (1 - share) * (special.ndtri(tail) / distance) ** 2 if distance else math.inf
    if about > MAX_TRIALS:
        return ReplicatesToDecide(math.inf)
    first = 1 if about < 1000 else int(about / 2)
    while True:
        counts = np.arange(first, 2 * first)
        low, high = np.floor(counts * observed + 1e-9), np.ceil(counts * observed - 1e-9)
        decided = (stats.binom.sf(low - 1, counts, share) <= tail) | (stats.binom.cdf(high, counts, share) <= tail)
        if decided.any():
            return ReplicatesToDecide(float(counts[np.argmax(decided)]))
        first *= 2


def _why_never(piece: Evidence) -> str:
    """Why there is no interval with any number of replicates; empty if there may be one."""
    few = 0 < piece.count < MIN_REPLICATES or math.isnan(piece.mean)
    return piece.refused if piece.refused and (piece.count == 0 or not few) else ""


def _inside(region: Region, piece: Evidence, confidence: float) -> Iterator[ReplicatesToDecide]:
    """For each bound, the replicates at which the interval lies inside of it."""
    for end, distance, error, is_open, side in (
        (region.lo, piece.mean - region.lo, piece.below, piece.open_below, "below"),
        (region.hi, region.hi - piece.mean, piece.error, piece.open_above, "above"),
    ):
        if math.isfinite(end):
            yield _until_clear(piece, distance, error, confidence, side if is_open else "")


def _outside(region: Region, piece: Evidence, confidence: float) -> Iterator[ReplicatesToDecide]:
    """For the bound that the estimate is beyond, the replicates at which the interval lies outside."""
    if piece.mean >= region.hi:
        open_side = "below" if piece.open_below else ""
        yield _until_clear(piece, piece.mean - region.hi, piece.below, confidence, open_side)
    if piece.mean <= region.lo:
        yield _until_clear(piece, region.lo - piece.mean, piece.error, confidence, "above" if piece.open_above else "")


def _until_clear(
    piece: Evidence, distance: float, error: float, confidence: float, open_side: str
) -> ReplicatesToDecide:
    """The smallest R at which the interval ends before a bound at a ``distance`` from the mean."""
    if open_side:
        because = f" ({'; '.join(piece.notes)})" if piece.notes else ""
        return ReplicatesToDecide(
            math.inf, f"the interval is open {open_side}, however many replicates there are{because}"
        )

    def undecided_at(count: int) -> bool:
        degrees = piece.degrees + piece.gain * (count - piece.count)
        if degrees < 1:
            return True
        return t_quantile(degrees, confidence) * error * math.sqrt(piece.count / count) > distance

    if not distance > 0 or undecided_at(MAX_REPLICATES):
        return ReplicatesToDecide(math.inf)
    too_few, enough = MIN_REPLICATES - 1, MAX_REPLICATES
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (middle, enough) if undecided_at(middle) else (too_few, middle)
    return ReplicatesToDecide(float(enough))
