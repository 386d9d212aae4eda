"""From evidence to a verdict: where a 95 % interval lies with respect to the region that a claim names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from bfc_bench.analysis.intervals import CONFIDENCE, range_interval, t_quantile, two_sided_p

Word: TypeAlias = Literal["supported", "contradicted", "undecided"]

MIN_REPLICATES = 3
"""Fewer give no verdict."""

SIGNS: dict[str, str] = {"supported": "\N{CHECK MARK}", "contradicted": "\N{BALLOT X}", "undecided": "?"}
"""A sign per verdict that tells it apart without colours."""


@dataclass(frozen=True, slots=True)
class Region:
    """The values that a claim allows, ends included."""

    lo: float = -math.inf
    hi: float = math.inf

    def log(self) -> Region:
        """The region of the logarithm of a positive quantity."""
        return Region(*(math.log(x) if x > 0 else -math.inf for x in (self.lo, self.hi)))

    def holds(self, lo: float, hi: float) -> bool:
        """Whether [lo, hi] lies inside."""
        return self.lo <= lo and hi <= self.hi

    def excludes(self, lo: float, hi: float) -> bool:
        """Whether [lo, hi] lies outside, touching nothing."""
        return hi < self.lo or lo > self.hi

    def __str__(self) -> str:
        """``≤ 0.01``, ``≥ 2``, ``= 1`` or ``in [0.909, 1.1]``."""
        if self.lo == self.hi:
            return f"= {short(self.lo)}"
        if math.isinf(self.lo) or math.isinf(self.hi):
            return f"≤ {short(self.hi)}" if math.isinf(self.lo) else f"≥ {short(self.lo)}"
        return f"in [{short(self.lo)}, {short(self.hi)}]"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A mean over replicates with its standard error; a side is open where some values are bounds only."""

    mean: float
    error: float
    degrees: float
    """Of freedom, of Student's t."""
    count: int
    """Replicates used."""
    open_below: bool = False
    """Some values are upper bounds: the truth may be any amount lower, so no lower bound exists."""
    open_above: bool = False
    notes: tuple[str, ...] = ()
    refused: str = ""
    """Why there is no interval; empty where there is one."""
    extremes: tuple[float, float] = (math.nan, math.nan)
    """Least and largest value of a replicate."""
    error_below: float | None = None
    """The standard error that gives the lower end, where ranges make it another than ``error``."""
    gain: float = 1.0
    """Degrees of freedom that one more replicate adds."""
    fixed: str = ""
    """Why more replicates would not narrow the interval; empty where they would."""

    def bounds(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The interval; infinite where a side is open, on both where the evidence is refused."""
        if self.refused:
            return -math.inf, math.inf
        t = t_quantile(self.degrees, confidence)
        lo, hi = self.mean - t * self.below, self.mean + t * self.error
        return -math.inf if self.open_below else lo, math.inf if self.open_above else hi

    @property
    def below(self) -> float:
        """The standard error that gives the lower end."""
        return self.error if self.error_below is None else self.error_below

    def p_inside(self, region: Region) -> float:
        """The significance at which the interval just lies inside the region; 1 where none does."""
        finite = [math.isfinite(end) for end in (region.lo, region.hi)]
        below = self._p(self.mean - region.lo, self.below, self.open_below) if finite[0] else 0.0
        above = self._p(region.hi - self.mean, self.error, self.open_above) if finite[1] else 0.0
        return 1.0 if self.refused else max(below, above)

    def p_outside(self, region: Region) -> float:
        """The significance at which the interval just lies outside the region; 1 where none does."""
        below = self._p(region.lo - self.mean, self.error, self.open_above)
        above = self._p(self.mean - region.hi, self.below, self.open_below)
        return 1.0 if self.refused else min(below, above)

    def _p(self, distance: float, error: float, is_open: bool) -> float:
        """Two-sided p of a mean that is ``distance`` beyond a bound; 1 where it is not beyond."""
        if is_open or not distance > 0:
            return 1.0
        return two_sided_p(distance / error, self.degrees) if error > 0 else 0.0


def evidence(
    values: Iterable[float], *, open_below: bool = False, open_above: bool = False, notes: Sequence[str] = ()
) -> Evidence:
    """What R replicates, one value each, say of their mean. Refused below 3 replicates and where all are equal."""
    x = np.array(list(values), dtype=float)
    mean = float(x.mean()) if x.size else math.nan
    error = float(x.std(ddof=1)) / math.sqrt(x.size) if x.size > 1 else math.nan
    refused = ""
    if x.size < MIN_REPLICATES:
        refused = f"{x.size} replicates have a value; at least {MIN_REPLICATES} are needed"
    elif error <= 1e-12 * abs(mean):
        refused = "zero variance: the value is the same in every replicate, so no interval exists"
    extremes = (float(x.min()), float(x.max())) if x.size else (math.nan, math.nan)
    return Evidence(mean, error, x.size - 1, x.size, open_below, open_above, tuple(notes), refused, extremes)


def evidence_of_ranges(
    lower: Sequence[float],
    upper: Sequence[float],
    *,
    open_below: bool = False,
    open_above: bool = False,
    notes: Sequence[str] = (),
) -> Evidence:
    """What R replicates say of their mean, each known to lie in [lower, upper]; ``evidence`` where all are points."""
    pairs = list(zip(lower, upper, strict=True))
    middles = [(a + b) / 2 for a, b in pairs]
    found = evidence(middles, open_below=open_below, open_above=open_above, notes=notes)
    if len(pairs) < MIN_REPLICATES or all(a == b for a, b in pairs):
        return found
    interval, t = range_interval(lower, upper), t_quantile(found.degrees)
    above, below = (interval.hi - interval.mean) / t, (interval.mean - interval.lo) / t
    return replace(found, error=above, error_below=below, refused="")


def nothing(reason: str) -> Evidence:
    """No evidence, and why."""
    return Evidence(math.nan, math.nan, math.nan, 0, refused=reason)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the results say of one claim."""

    id: str
    kind: str
    source: str
    statement: str
    """The claim as a sentence, made from its fields."""
    verdict: Word
    estimate: float
    lo: float
    """Of the 95 % interval; -inf (0 for a ratio or an error) and inf where censored or failed cells leave it open."""
    hi: float
    region: str
    """What the claim says of the estimate."""
    replicates: int
    """Values used, the fewest of those compared."""
    p: float
    """Two-sided, of the estimate being beyond the nearest end of the region by chance; at most .05 where decided."""
    holm_p: float = math.nan
    """``p`` adjusted for all claims judged together."""
    note: str = ""
    """Why it is undecided, and what to know of the evidence."""
    worst: float = math.nan
    """Of the replicates, the value that speaks most against the claim; a mean hides it."""
    but: str = ""
    """What a reader must know before the verdict is quoted; empty where it is plain."""
    sanity: bool = False
    """Whether the claim could fail only if the program were wrong."""
    needed: float = math.nan
    """Replicates at which this estimate, at the spread seen, would just be decided; inf where it lies on the bound or
    where ``stuck`` says that no number would do, nan where nothing is known."""
    stuck: str = ""
    """Why no number of replicates would decide it, as far as the results go; empty where one would."""
    look: int = 0
    """Which of the ``looks`` that were planned the verdict comes from; 0 where no looks are planned."""
    looks: int = 0
    confidence: float = CONFIDENCE
    """Of the interval. Those of all looks hold together with 95 %, and ``p`` is of all looks together."""

    @property
    def words(self) -> str:
        """The verdict as it must be quoted: ``supported``, ``supported after look 3 of 5, at 99.2 %``, or ``supported,
        but the worst replicate ...``."""
        said = f"{self.verdict} {self.when}" if self.look else self.verdict
        return ", ".join(filter(None, (said, self.aside)))

    @property
    def aside(self) -> str:
        """What belongs beside the verdict: ``a sanity check``, ``but the worst replicate ...``, or nothing."""
        return ", ".join(["a sanity check"] * self.sanity + [f"but {self.but}"] * bool(self.but))

    @property
    def when(self) -> str:
        """``after look 3 of 5, at 99.2 %``; empty where no looks are planned."""
        return f"after look {self.look} of {self.looks}, at {100 * self.confidence:.4g} %" if self.look else ""

    @property
    def sign(self) -> str:
        """A sign that tells the verdict without colours."""
        return SIGNS[self.verdict]

    def as_dict(self) -> dict[str, Any]:
        """The verdict as a flat record; numbers that do not exist are nan, ends that are open infinite."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class LookLevel:
    """Which look a claim is judged at, of those that are planned for it."""

    number: int
    of: int
    confidence: float
    """Of the interval that decides at this look."""

    def taken(self, verdict: Verdict) -> Verdict:
        """The verdict as one of this look, whatever the kind of claim made of it: undecided where its p, which is
        multiplied by .05 over what the look spends, is above .05.
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
    """Value of a replicate, as values are averaged."""


def decide(region: Region, found: Sequence[tuple[str, Evidence]], confidence: float = CONFIDENCE) -> Finding:
    """Supported where the interval lies inside the region, contradicted where it lies outside, else undecided.

    ``found`` names each piece of evidence. Of k > 1 pieces the largest quantity is judged, against a region that is
    bounded above only. Its interval ends at the largest upper end, and begins at the largest lower end of intervals of
    confidence 1 - .05 / k: the truth exceeds the former or stays below the latter with probability .025 at most each,
    at a ``confidence`` of .95.
    """
    pieces = [piece for _, piece in found]
    usable = [(name, piece) for name, piece in found if not piece.refused]
    notes = [*_refusals(found), *dict.fromkeys(note for piece in pieces for note in piece.notes)]
    if not usable:
        known = [piece.mean for piece in pieces if not math.isnan(piece.mean)]
        estimate = max(known, default=math.nan)
        return Finding("undecided", estimate, math.nan, math.nan, min(p.count for p in pieces), math.nan, _join(notes))
    k = len(pieces)
    name, largest = max(usable, key=lambda item: item[1].mean)
    lo = max(piece.bounds(1 - (1 - confidence) / k)[0] for piece in pieces)
    hi = max(piece.bounds(confidence)[1] for piece in pieces)
    inside = max(piece.p_inside(region) for piece in pieces)
    outside = min(1.0, k * min(piece.p_outside(region) for piece in pieces))
    verdict: Word = "undecided"
    if region.holds(lo, hi):
        verdict = "supported"
    elif region.excludes(lo, hi):
        verdict = "contradicted"
    elif region.lo == region.hi:
        notes.append("equality without a tolerance can only be contradicted")
    elif math.isfinite(lo) and math.isfinite(hi):
        notes.append("the interval reaches across the bound; more replicates would narrow it")
    if k > 1:
        notes.insert(0, f"nearest: {name}")
    # Without any variance there is no test.
    p = math.nan if any(piece.error == 0 for piece in pieces) else min(inside, outside)
    worst = _worst(region, [piece.extremes for piece in pieces])
    return Finding(verdict, largest.mean, lo, hi, min(piece.count for piece in pieces), p, _join(notes), worst)


def _worst(region: Region, extremes: Sequence[tuple[float, float]]) -> float:
    """The value that is farthest above the region, or below one that is bounded below only."""
    least, largest = (min(lo for lo, _ in extremes), max(hi for _, hi in extremes))
    if math.isinf(region.hi) or (math.isfinite(region.lo) and region.lo - least > largest - region.hi):
        return least
    return largest


def _refusals(found: Sequence[tuple[str, Evidence]]) -> Iterator[str]:
    """Why there is no interval, with the names that it is true of where it is not true of all."""
    reasons: dict[str, list[str]] = {}
    for name, piece in found:
        if piece.refused:
            reasons.setdefault(piece.refused, []).append(name)
    for reason, names in reasons.items():
        said = len(names) == len(found) or all(name in reason for name in names)
        yield reason if said else f"{', '.join(names)}: {reason}"


def short(x: float) -> str:
    """Three digits, without zeros that say nothing: ``0.01``, ``1e-5``."""
    return re.sub(r"e([+-])0*", lambda match: "e" + match[1].strip("+"), f"{x:.3g}")


def exp(x: float) -> float:
    """e^x, inf where that is beyond float64."""
    return math.inf if x > 709 else math.exp(x)


def _join(notes: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(notes))
