"""How many replicates it would take to decide a claim, if estimate and spread stay what they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Evidence, Region
from bfc_bench.analysis.intervals import CONFIDENCE, t_quantile

MOST = 10**6
"""Replicates; an estimate that would need more lies on the bound."""
MOST_TRIALS = 10**5


@dataclass(frozen=True, slots=True)
class ReplicatesToDecide:
    """What more replicates would bring."""

    needed: float = math.nan
    """At which the interval just decides; inf where no number would do, nan where nothing is known."""
    stuck: str = ""
    """Why no number would do whatever the estimate becomes; empty where it is only on the bound, or where one would."""


def replicates_to_decide(
    region: Region, found: Sequence[tuple[str, Evidence]], confidence: float = CONFIDENCE
) -> ReplicatesToDecide:
    """For the evidence of ``verdict.decide``: the least R at which the interval, t_{R-1} s / sqrt(R) about the same
    estimate, clears the bound.

    With a spread that is known this is R = (z s / distance)^2. At that R the verdict falls one way or the other with
    about even chances, since the next estimate will be another one.
    """
    pieces = [piece for _, piece in found]
    if any(reasons := [reason for piece in pieces if (reason := _never(piece))]):
        return ReplicatesToDecide(math.inf, "; ".join(dict.fromkeys(reasons)))
    if any(math.isnan(piece.mean + piece.error) for piece in pieces):
        return ReplicatesToDecide()
    found_at = _least(region, pieces, confidence)
    if found_at.needed > min(piece.count for piece in pieces):
        fixed = next((piece.fixed for piece in pieces if piece.fixed), "")
        return ReplicatesToDecide(math.inf, found_at.stuck or fixed) if fixed else found_at
    return found_at


def _least(region: Region, pieces: Sequence[Evidence], confidence: float) -> ReplicatesToDecide:
    """From the mean and standard error of each piece."""
    if all(region.lo <= piece.mean <= region.hi for piece in pieces) and region.lo < region.hi:
        ends = [end for piece in pieces for end in _inside(region, piece, confidence)]
        return max(ends, key=lambda end: (bool(end.stuck), end.needed))
    each = 1 - (1 - confidence) / len(pieces)
    ends = [end for piece in pieces for end in _outside(region, piece, each)]
    return min(ends, key=lambda end: end.needed, default=ReplicatesToDecide(math.inf))


def trials_to_decide(reached: int, trials: int, share: float, confidence: float = CONFIDENCE) -> ReplicatesToDecide:
    """For a share of replicates against ``share``: the least number of trials that decides, if that part of them
    succeeds, by the interval of Clopper and Pearson.
    """
    from scipy import special, stats

    if not trials:
        return ReplicatesToDecide()
    seen, tail = reached / trials, (1 - confidence) / 2
    distance = abs(seen - share)
    about = share * (1 - share) * (special.ndtri(tail) / distance) ** 2 if distance else math.inf
    if about > MOST_TRIALS:
        return ReplicatesToDecide(math.inf)
    first = 1 if about < 1000 else int(about / 2)
    while True:
        counts = np.arange(first, 2 * first)
        low, high = np.floor(counts * seen + 1e-9), np.ceil(counts * seen - 1e-9)
        decided = (stats.binom.sf(low - 1, counts, share) <= tail) | (stats.binom.cdf(high, counts, share) <= tail)
        if decided.any():
            return ReplicatesToDecide(float(counts[np.argmax(decided)]))
        first *= 2


def _never(piece: Evidence) -> str:
    """Why there is no interval and never will be, if so."""
    few = 0 < piece.count < MIN_REPLICATES or math.isnan(piece.mean)
    return piece.refused if piece.refused and (piece.count == 0 or not few) else ""


def _inside(region: Region, piece: Evidence, confidence: float) -> Iterator[ReplicatesToDecide]:
    for end, distance, error, is_open, side in (
        (region.lo, piece.mean - region.lo, piece.below, piece.open_below, "below"),
        (region.hi, region.hi - piece.mean, piece.error, piece.open_above, "above"),
    ):
        if math.isfinite(end):
            yield _clears(piece, distance, error, confidence, side if is_open else "")


def _outside(region: Region, piece: Evidence, confidence: float) -> Iterator[ReplicatesToDecide]:
    if piece.mean >= region.hi:
        open_side = "below" if piece.open_below else ""
        yield _clears(piece, piece.mean - region.hi, piece.below, confidence, open_side)
    if piece.mean <= region.lo:
        yield _clears(piece, region.lo - piece.mean, piece.error, confidence, "above" if piece.open_above else "")


def _clears(piece: Evidence, distance: float, error: float, confidence: float, open_side: str) -> ReplicatesToDecide:
    """The least R at which the interval ends before a bound at a ``distance``."""
    if open_side:
        because = f" ({'; '.join(piece.notes)})" if piece.notes else ""
        return ReplicatesToDecide(
            math.inf, f"the interval is open {open_side}, however many replicates there are{because}"
        )

    def short_of(count: int) -> bool:
        degrees = piece.degrees + piece.gain * (count - piece.count)
        if degrees < 1:
            return True
        return t_quantile(degrees, confidence) * error * math.sqrt(piece.count / count) > distance

    if not distance > 0 or short_of(MOST):
        return ReplicatesToDecide(math.inf)
    too_few, enough = MIN_REPLICATES - 1, MOST
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (middle, enough) if short_of(middle) else (too_few, middle)
    return ReplicatesToDecide(float(enough))
