"""Evidence, the region that a claim allows, and the verdict that follows from where the 95 % interval lies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from bfc_bench.analysis.intervals import CONFIDENCE, MIN_SKEWED, range_interval, skewness, t_quantile, two_sided_p
from bfc_bench.analysis.skewed_t import cautious_reach, cautious_t
from bfc_bench.store.export import FlatRecord

Word: TypeAlias = Literal["supported", "contradicted", "undecided"]

Side: TypeAlias = Literal["below", "above"]

MIN_REPLICATES = 3
"""With fewer replicates there is no verdict."""

SIGNS: dict[str, str] = {"supported": "\N{CHECK MARK}", "contradicted": "\N{BALLOT X}", "undecided": "?"}
"""A sign for each verdict, so that it can be recognised without colours."""


@dataclass(frozen=True, slots=True)
class Region:
    """The values that a claim allows, ends included."""

    lo: float = -math.inf
    hi: float = math.inf

    def log(self) -> Region:
        """The region of the logarithm of a positive quantity."""
        return Region(*(math.log(x) if x > 0 else -math.inf for x in (self.lo, self.hi)))

    def word(self, lo: float, hi: float) -> Word:
        """The verdict from the interval [lo, hi]: contradicted if it does not touch the region."""
        if self.lo <= lo and hi <= self.hi:
            return "supported"
        return "contradicted" if hi < self.lo or lo > self.hi else "undecided"

    def __str__(self) -> str:
        """``≤ 0.01``, ``≥ 2``, ``= 1`` or ``in [0.909, 1.1]``."""
        if self.lo == self.hi:
            return f"= {short(self.lo)}"
        if math.isinf(self.lo) or math.isinf(self.hi):
            return f"≤ {short(self.hi)}" if math.isinf(self.lo) else f"≥ {short(self.lo)}"
        return f"in [{short(self.lo)}, {short(self.hi)}]"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A mean over replicates with its standard error; a side is open if some values are only bounds."""

    mean: float
    error: float
    degrees: float
    """Degrees of freedom of Student's t."""
    count: int
    """Number of replicates used."""
    open_below: bool = False
    """Whether some values are only upper bounds, so that the interval has no lower end."""
    open_above: bool = False
    """Whether some values are only lower bounds, so that the interval has no upper end."""
    notes: tuple[str, ...] = ()
    refused: str = ""
    """Why there is no interval; empty if there is one."""
    extremes: tuple[float, float] = (math.nan, math.nan)
    """Smallest and largest value over replicates, in the units of ``mean``; nan if replicates have no value of their
    own."""
    error_below: float | None = None
    """Standard error for the lower end, if ranges make it differ from ``error``."""
    gain: float = 1.0
    """Degrees of freedom that one more replicate adds."""
    fixed: str = ""
    """Why more replicates would not narrow the interval; empty if they would."""
    skewness: float = math.nan
    """Skewness of the values; nan if it is unknown, and then the interval is Student's."""

    def bounds(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The interval; infinite on an open side, and on both sides if the evidence is refused."""
        if self.refused:
            return -math.inf, math.inf
        lo, hi = self.mean - self.reach("below", confidence), self.mean + self.reach("above", confidence)
        return -math.inf if self.open_below else lo, math.inf if self.open_above else hi

    def reach(self, side: Side, confidence: float, count: int | None = None) -> float:
        """Distance from the mean to the end of the interval on one side: Student's t, widened for skewed values."""
        count = self.count if count is None else count
        degrees = self.degrees + self.gain * (count - self.count)
        error = self.error if side == "above" else self.below
        if count != self.count:
            error *= math.sqrt(self.count / count)
        return cautious_reach(t_quantile(degrees, confidence), count, self._skewness(side)) * error

    def of_symmetric_values(self) -> Evidence:
        """The evidence with Student's interval, which assumes that the values are not skewed."""
        return replace(self, skewness=math.nan)

    def minus(self, constant: float) -> Evidence:
        """The evidence about the mean minus a constant, with the extremes moved by it too."""
        smallest, largest = self.extremes
        return replace(self, mean=self.mean - constant, extremes=(smallest - constant, largest - constant))

    @property
    def below(self) -> float:
        """Standard error for the lower end of the interval."""
        return self.error if self.error_below is None else self.error_below

    def p_inside(self, region: Region) -> float:
        """The significance level at which the interval just lies inside the region; 1 if there is none."""
        finite = [math.isfinite(end) for end in (region.lo, region.hi)]
        below = self._p(self.mean - region.lo, "below") if finite[0] else 0.0
        above = self._p(region.hi - self.mean, "above") if finite[1] else 0.0
        return 1.0 if self.refused else max(below, above)

    def p_outside(self, region: Region) -> float:
        """The significance level at which the interval just lies outside the region; 1 if there is none."""
        below = self._p(region.lo - self.mean, "above")
        above = self._p(self.mean - region.hi, "below")
        return 1.0 if self.refused else min(below, above)

    def _p(self, distance: float, side: Side) -> float:
        """Two-sided p of a bound that lies ``distance`` beyond the mean, on one side; 1 if it does not."""
        error, is_open = (self.error, self.open_above) if side == "above" else (self.below, self.open_below)
        if is_open or not distance > 0:
            return 1.0
        if not error > 0:
            return 0.0
        return min(1.0, two_sided_p(-cautious_t(-distance / error, self.count, self._skewness(side)), self.degrees))

    def _skewness(self, side: Side) -> float:
        """Skewness as the end on this side needs it: positive if the tail of the values lies on this side."""
        return self.skewness if side == "above" else -self.skewness


def evidence(
    values: Iterable[float], *, open_below: bool = False, open_above: bool = False, notes: Sequence[str] = ()
) -> Evidence:
    """Evidence about the mean of R values, one per replicate; refused if R < 3 or all values are equal."""
    x = np.array(list(values), dtype=float)
    mean = float(x.mean()) if x.size else math.nan
    error = float(x.std(ddof=1)) / math.sqrt(x.size) if x.size > 1 else math.nan
    refused = ""
    if x.size < MIN_REPLICATES:
        refused = f"{x.size} replicates have a value; at least {MIN_REPLICATES} are needed"
    elif error <= 1e-12 * abs(mean):
        refused = "zero variance: the value is the same in every replicate, so no interval exists"
    extremes = (float(x.min()), float(x.max())) if x.size else (math.nan, math.nan)
    return Evidence(
        mean, error, x.size - 1, x.size, open_below, open_above, tuple(notes), refused, extremes, skewness=skewness(x)
    )


def over_ranges(of_middles: Evidence, ranges: Sequence[tuple[float, float]]) -> Evidence:
    """Evidence about the mean of R values that are known to lie in ranges, from that about the middles of these."""
    if len(ranges) < MIN_REPLICATES or all(lo == hi for lo, hi in ranges):
        return of_middles
    lower, upper = zip(*ranges, strict=True)
    interval, t = range_interval(lower, upper), t_quantile(of_middles.degrees)
    above, below = (interval.hi - interval.mean) / t, (interval.mean - interval.lo) / t
    return replace(of_middles, error=above, error_below=below, refused="")


def nothing(reason: str) -> Evidence:
    """Missing evidence, with the reason."""
    return Evidence(math.nan, math.nan, math.nan, 0, refused=reason)


@dataclass(frozen=True, slots=True)
class Verdict(FlatRecord):
    """The verdict on one claim, with the numbers that it is based on."""

    id: str
    kind: str
    source: str
    statement: str
    """The claim as a sentence."""
    verdict: Word
    estimate: float
    lo: float
    """Lower end of the interval; -inf (0 for a ratio or an error) if censored or failed cells leave it open."""
    hi: float
    """Upper end of the interval; inf if censored or failed cells leave it open."""
    region: str
    """The values that the claim allows, such as ``≤ 0.01``."""
    replicates: int
    """Number of values used; the smallest number if several are compared."""
    p: float
    """Two-sided p of the estimate being on its side of the nearest bound by chance; at most .05 if decided."""
    holm_p: float = math.nan
    """``p`` adjusted for all claims judged together (Holm)."""
    note: str = ""
    """Why the claim is undecided, and remarks on the evidence."""
    worst: float = math.nan
    """The replicate's value that speaks most against the claim, in the units of ``estimate``; nan if replicates have no
    value of their own, as in a share of them or a law that is fitted to all."""
    but: str = ""
    """A reservation that must be quoted with the verdict; empty if there is none."""
    sanity: bool = False
    """Whether the claim could fail only because of a bug."""
    needed: float = math.nan
    """Replicates that would just decide the claim at this estimate and spread; inf if the estimate lies on the bound or
    ``stuck`` says that no number is enough; nan if unknown."""
    stuck: str = ""
    """Why, given these results, no number of replicates would decide the claim; empty if some number would."""
    look: int = 0
    """Number of the look (interim analysis) that gave the verdict, from 1; 0 if no looks are planned."""
    looks: int = 0
    """How many looks are planned."""
    confidence: float = CONFIDENCE
    """Confidence of the interval. The intervals of all looks hold together with 95 %, and ``p`` is for all looks."""

    @property
    def words(self) -> str:
        """The verdict as it must be quoted: ``supported``, ``supported after look 3 of 5, at 99.2 %``, or ``supported,
        but the worst replicate ...``."""
        verdict = f"{self.verdict} {self.when}" if self.look else self.verdict
        return ", ".join(filter(None, (verdict, self.aside)))

    @property
    def aside(self) -> str:
        """Remarks to quote with the verdict: ``a sanity check``, ``but the worst replicate ...``, or nothing."""
        return ", ".join(["a sanity check"] * self.sanity + [f"but {self.but}"] * bool(self.but))

    @property
    def when(self) -> str:
        """``after look 3 of 5, at 99.2 %``; empty if no looks are planned."""
        return f"after look {self.look} of {self.looks}, at {100 * self.confidence:.4g} %" if self.look else ""

    @property
    def sign(self) -> str:
        """Sign of the verdict, so that it can be recognised without colours."""
        return SIGNS[self.verdict]


@dataclass(frozen=True, slots=True)
class LookLevel:
    """Number and confidence of a look (interim analysis), of those that are planned for a claim."""

    number: int
    of: int
    """How many looks are planned."""
    confidence: float
    """Confidence of the interval that decides at this look."""
    allows_skewness: bool = True
    """Whether the interval allows for skewed values."""

    def apply_to(self, verdict: Verdict) -> Verdict:
        """The verdict at this look, for any kind of claim.

        p is multiplied by .05 over the two-sided level of the look; the claim is undecided if the result exceeds .05.
        """
        p = verdict.p * (1 - CONFIDENCE) / (1 - self.confidence)
        word = "undecided" if p > (1 - CONFIDENCE) * (1 + 1e-9) else verdict.verdict
        return replace(
            verdict, verdict=word, but=verdict.but if word == verdict.verdict else "",
            p=p if math.isnan(p) else min(1.0, p),
            look=self.number, looks=self.of, confidence=self.confidence,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """The numbers of a verdict."""

    verdict: Word
    estimate: float
    lo: float
    hi: float
    replicates: int
    p: float
    note: str
    worst: float = math.nan
    """The replicate's value that speaks most against the claim, on the scale of the mean."""


def decide(region: Region, quantities: Sequence[tuple[str, Evidence]], confidence: float = CONFIDENCE) -> Finding:
    """Supported if the interval lies inside the region, contradicted if it lies outside, else undecided.

    The interval contains Student's and the one that allows for skewed values, so both must agree. Of k > 1 quantities,
    the largest is judged. The upper end of its interval is the largest of all upper ends. Its lower end is the largest
    lower end of intervals with confidence 1 - .05 / k. The truth lies beyond each end with probability .025 at most,
    for ``confidence`` .95 and values that are not skewed.
    """
    pieces = [piece for _, piece in quantities]
    usable = [(name, piece) for name, piece in quantities if not piece.refused]
    notes = [*_refusals(quantities), *dict.fromkeys(note for piece in pieces for note in piece.notes)]
    if not usable:
        estimate = max((piece.mean for piece in pieces if not math.isnan(piece.mean)), default=math.nan)
        return Finding("undecided", estimate, math.nan, math.nan, min(p.count for p in pieces), math.nan, _join(notes))
    k = len(pieces)
    name, largest = max(usable, key=lambda item: item[1].mean)
    verdict, lo, hi = _compare(region, pieces, confidence)
    inside = max(piece.p_inside(region) for piece in pieces)
    outside = min(1.0, k * min(piece.p_outside(region) for piece in pieces))
    if verdict != "undecided":
        notes += _few(pieces)
    elif region.lo == region.hi:
        notes.append("equality without a tolerance can only be contradicted")
    elif math.isfinite(lo) and math.isfinite(hi):
        student = _compare(region, [piece.of_symmetric_values() for piece in pieces], confidence)[0]
        if student != "undecided":
            notes.append(f"{student} if the values are not skewed; the interval that allows for skewness disagrees")
        notes.append("the interval reaches across the bound; more replicates would narrow it")
    if k > 1:
        notes.insert(0, f"nearest: {name}")
    # Values without variance give no test.
    p = math.nan if any(piece.error == 0 for piece in pieces) else min(inside, outside)
    worst = _worst(region, [piece.extremes for piece in pieces])
    return Finding(verdict, largest.mean, lo, hi, min(piece.count for piece in pieces), p, _join(notes), worst)


def _compare(region: Region, pieces: Sequence[Evidence], confidence: float) -> tuple[Word, float, float]:
    """The verdict on the largest of k quantities, with the interval that it comes from."""
    lo = max(piece.bounds(1 - (1 - confidence) / len(pieces))[0] for piece in pieces)
    hi = max(piece.bounds(confidence)[1] for piece in pieces)
    return region.word(lo, hi), lo, hi


def _few(pieces: Sequence[Evidence]) -> list[str]:
    """That the replicates behind a verdict are too few to show skewness; nothing if they are not, or need not."""
    few = min((piece.count for piece in pieces if not math.isnan(piece.skewness)), default=MIN_SKEWED)
    return [f"{few} replicates cannot show skewness, which the verdict assumes to be small"] * (few < MIN_SKEWED)


def _worst(region: Region, extremes: Sequence[tuple[float, float]]) -> float:
    """The value that is farthest outside the region, or nearest to its bound if none is outside."""
    least = min((lo for lo, _ in extremes if not math.isnan(lo)), default=math.nan)
    largest = max((hi for _, hi in extremes if not math.isnan(hi)), default=math.nan)
    if math.isinf(region.hi) or (math.isfinite(region.lo) and region.lo - least > largest - region.hi):
        return least
    return largest


def _refusals(quantities: Sequence[tuple[str, Evidence]]) -> Iterator[str]:
    """Reasons why there is no interval, with the names that they apply to if they do not apply to all."""
    reasons: dict[str, list[str]] = {}
    for name, piece in quantities:
        if piece.refused:
            reasons.setdefault(piece.refused, []).append(name)
    for reason, names in reasons.items():
        needs_no_names = len(names) == len(quantities) or all(name in reason for name in names)
        yield reason if needs_no_names else f"{', '.join(names)}: {reason}"


def short(x: float) -> str:
    """A number with three digits and no superfluous zeros: ``0.01``, ``1e-5``."""
    return re.sub(r"e([+-])0*", lambda match: "e" + match[1].strip("+"), f"{x:.3g}")


def _join(notes: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(notes))


def verdict_record(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict as JSON can write it: null for a number that is missing, texts for open ends of intervals."""
    return {
        name: value
        if not isinstance(value, float) or math.isfinite(value)
        else None
        if math.isnan(value)
        else f"{value:+}"
        for name, value in verdict.items()
    }
