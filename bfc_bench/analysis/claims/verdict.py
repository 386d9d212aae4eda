"""The verdict on a claim, from where the 95 % interval of its evidence lies."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bfc_bench.analysis.claims.mean_evidence import ENOUGH, MIN_REPLICATES, Evidence, Region, Side, Word, short
from bfc_bench.analysis.intervals import CONFIDENCE, MIN_SKEWED, exp
from bfc_bench.store.export import FlatRecord

SIGNS: dict[str, str] = {"supported": "\N{CHECK MARK}", "contradicted": "\N{BALLOT X}", "undecided": "?"}
"""A sign for each verdict, so that it can be recognised without colours."""
MAX_REPLICATES = 10**6
"""An estimate that would need more replicates counts as lying on the bound."""
FAR_BEYOND = 10
"""If a replicate is this many times beyond the bound, the verdict of a supported claim says so."""


def compare(region: Region, pieces: Sequence[Evidence], confidence: float) -> tuple[Word, float, float]:
    """The verdict on the largest of k quantities, with the interval that it comes from.

    The upper end of the interval is the largest of all upper ends. Its lower end is the largest lower end of intervals
    with confidence 1 - .05 / k. The truth lies beyond each end with probability .025 at most, for ``confidence`` .95
    and values that are not skewed.
    """
    lo = max(piece.bounds(1 - (1 - confidence) / len(pieces))[0] for piece in pieces)
    hi = max(piece.bounds(confidence)[1] for piece in pieces)
    return region.word(lo, hi), lo, hi


@dataclass(frozen=True)
class Finding(FlatRecord):
    """What the rows say of one claim by itself, with the numbers that this is based on."""

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
    note: str = ""
    """Why the claim is undecided, and remarks on the evidence."""
    worst: float = math.nan
    """The replicate's value that speaks most against the claim, in the units of ``estimate``; nan if replicates have no
    value of their own, as in a share of them or a law that is fitted to all."""
    but: str = ""
    """A reservation that must be quoted with the verdict; empty if there is none."""
    needed: float = math.nan
    """Replicates that would just decide the claim at this estimate and spread; inf if the estimate lies on the bound or
    ``stuck`` says that no number is enough; nan if unknown."""
    stuck: str = ""
    """Why, given these results, no number of replicates would decide the claim; empty if some number would."""


@dataclass(frozen=True, kw_only=True)
class Verdict(Finding):
    """The verdict on one claim of a suite: what the rows say, at the look that was made and beside the other claims."""

    id: str
    kind: str
    source: str
    holm_p: float = math.nan
    """``p`` adjusted for all claims judged together (Holm)."""
    sanity: bool = False
    """Whether the claim could fail only because of a bug."""
    look: int = 0
    """Number of the look (interim analysis) that gave the verdict, from 1; 0 if no looks are planned."""
    looks: int = 0
    """How many looks are planned."""
    confidence: float = CONFIDENCE
    """Confidence of the interval. The intervals of all looks hold together with 95 %, and ``p`` is for all looks."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as a flat record, which begins with those that name the claim."""
        return {"id": self.id, "kind": self.kind, "source": self.source} | super().as_dict()

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

    number: int = 0
    """From 1; 0 if no looks are planned."""
    of: int = 0
    """How many looks are planned."""
    confidence: float = CONFIDENCE
    """Confidence of the interval that decides at this look."""

    def p_of_all(self, p: float) -> float:
        """p for all looks: that of this look, times .05 over its two-sided level."""
        return p if math.isnan(p) else min(1.0, p * (1 - CONFIDENCE) / (1 - self.confidence))


def decide(
    region: Region,
    quantities: Sequence[tuple[str, Evidence]],
    confidence: float = CONFIDENCE,
    *,
    statement: str = "",
    log: bool = False,
    but: str = "",
) -> Finding:
    """Supported if the interval lies inside the region, contradicted if it lies outside, else undecided.

    The interval contains Student's and the one that allows for skewed values, so both must agree. Of several
    quantities, by name, the largest is judged (``compare``). The other arguments are those of ``Claim.verdict``.
    """
    allowed, pieces = region.log() if log else region, [piece for _, piece in quantities]
    usable = [(name, piece) for name, piece in quantities if not piece.refused]
    notes = [*_refusals(quantities), *(note for piece in pieces for note in piece.notes)]
    word, lo, hi = compare(allowed, pieces, confidence) if usable else ("undecided", math.nan, math.nan)
    p, worst = math.nan, math.nan
    if usable:
        name, largest = max(usable, key=lambda item: item[1].mean)
        estimate, worst = largest.mean, _worst(allowed, pieces)
        if len(pieces) > 1:
            notes.insert(0, f"nearest: {name}")
        notes += _few(pieces) if word != "undecided" else _why_undecided(allowed, pieces, (lo, hi), confidence)
        p = _p(allowed, pieces)
    else:
        estimate = max((piece.mean for piece in pieces if not math.isnan(piece.mean)), default=math.nan)
    if log:
        estimate, lo, hi, worst = map(exp, (estimate, lo, hi, worst))
        beyond = max(worst / region.hi, region.lo / worst if worst else 0.0)
        if word == "supported" and beyond >= FAR_BEYOND:
            but = f"the worst replicate, {short(worst)}, is {short(beyond)} times beyond the bound"
    return Finding(
        statement, word, estimate, lo, hi, str(region), min(piece.count for piece in pieces), p,
        "; ".join(dict.fromkeys(notes)), worst, "" if word == "undecided" else but,
        *replicates_to_decide(allowed, pieces, confidence),
    )  # fmt: skip


def _p(region: Region, pieces: Sequence[Evidence]) -> float:
    """p of the largest of k quantities: all lie inside, or one lies outside at a k-th of the level.

    It is nan if the values of none vary or are bounds, which gives no test.
    """
    if all(0 in piece.errors and not piece.only_bounds for piece in pieces):
        return math.nan
    inside = max(piece.p_inside(region) for piece in pieces)
    return min(inside, 1.0, len(pieces) * min(piece.p_outside(region) for piece in pieces))


def _why_undecided(
    region: Region, pieces: Sequence[Evidence], ends: tuple[float, float], confidence: float
) -> Iterator[str]:
    """Remarks on an interval that reaches across a bound; none if it has an open side, which other notes explain."""
    if any(piece.same_bounds and piece.count < ENOUGH for piece in pieces):
        yield f"every value is the same bound, and {ENOUGH} such replicates would decide"
    elif all(map(math.isfinite, ends)):
        student = compare(region, [piece.of_symmetric_values() for piece in pieces], confidence)[0]
        if student != "undecided":
            yield f"{student} if the values are not skewed; the interval that allows for skewness disagrees"
        yield "the interval reaches across the bound; more replicates would narrow it"


def _few(pieces: Sequence[Evidence]) -> list[str]:
    """That the replicates behind a verdict are too few to show skewness; nothing if they are not, or need not."""
    few = min((piece.count for piece in pieces if not math.isnan(piece.skewness)), default=MIN_SKEWED)
    return [f"{few} replicates cannot show skewness, which the verdict assumes to be small"] * (few < MIN_SKEWED)


def _worst(region: Region, pieces: Sequence[Evidence]) -> float:
    """The value that is farthest outside the region, or nearest to its bound if none is outside."""
    extremes = [piece.extremes for piece in pieces if not math.isnan(piece.extremes[0])]
    least = min((lo for lo, _ in extremes), default=math.nan)
    largest = max((hi for _, hi in extremes), default=math.nan)
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


def replicates_to_decide(
    region: Region, pieces: Sequence[Evidence], confidence: float = CONFIDENCE
) -> tuple[float, str]:
    """The smallest R at which the interval of this estimate, spread and skewness decides: ``needed``, ``stuck``.

    R is inf if no number is enough, and nan if it is unknown. If none is enough at any estimate, the text says why.

    Student's interval is estimate ± t_{R-1} s / sqrt(R), and for a known spread s this is R = (z s / distance)^2. With
    that many replicates the claim is decided with a probability of about one half, because the estimate will change.
    """
    # Fewer than 3 replicates have no interval yet; other evidence that is refused never has one.
    shown = [piece for piece in pieces if piece.count >= MIN_REPLICATES and not math.isnan(piece.mean)]
    if reasons := [piece.refused for piece in pieces if piece.refused and (piece.count == 0 or piece in shown)]:
        return math.inf, "; ".join(dict.fromkeys(reasons))
    if any(math.isnan(piece.mean + sum(piece.errors)) for piece in pieces):
        return math.nan, ""

    inside = all(region.lo <= piece.mean <= region.hi for piece in pieces)
    word, level = ("supported", confidence) if inside else ("contradicted", 1 - (1 - confidence) / len(pieces))
    each = [_needed(region, piece, word, level) for piece in pieces]
    needed = max(each) if inside else min(each)
    return needed, _why_no_number(region, pieces, inside) if math.isinf(needed) else ""


def _needed(region: Region, piece: Evidence, word: str, confidence: float) -> float:
    """The smallest R at which the interval of one quantity gives the verdict ``word``; inf if none does."""

    def decides(count: int) -> bool:
        return region.word(*piece.at(count).bounds(confidence)) == word

    counts = range(MIN_REPLICATES, MAX_REPLICATES + 1)
    first = bisect_left(counts, True, key=decides)
    return float(counts[first]) if first < len(counts) else math.inf


def _why_no_number(region: Region, pieces: Sequence[Evidence], inside: bool) -> str:
    """Why no number of replicates decides; empty if the estimate lies on the bound."""
    ends: list[tuple[Evidence, Side]] = []
    """The ends of intervals that must pass a bound: all of them, or one if an estimate lies outside the region."""
    for piece in pieces:
        if math.isfinite(region.lo) if inside else piece.mean > region.hi:
            ends.append((piece, "below"))
        if math.isfinite(region.hi) if inside else piece.mean < region.lo:
            ends.append((piece, "above"))
    open_ends = [(piece, side) for piece, side in ends if piece.is_open(side)]
    if open_ends and (inside or len(open_ends) == len(ends)):
        piece, side = open_ends[0]
        because = f" ({'; '.join(piece.notes)})" if piece.notes else ""
        return f"the interval is open {side}, however many replicates there are{because}"
    reasons = [piece.fixed for piece in pieces if piece.fixed]
    reasons += ["replicates share test points, and more of them share the same"] * any(of.overlap for of in pieces)
    return reasons[0] if reasons else ""
