"""Claims of a suite and their verdicts: one module per kind of claim.

A verdict comes from a 95 % interval, never from an estimate alone: supported if the interval lies inside the region
that the claim names, contradicted if it lies outside, else undecided.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from bfc_bench.analysis.claims.axes import resolve_grids
from bfc_bench.analysis.claims.base import Bounded, Claim, Label, Labels, MetricName, PointClaim, TaskName
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.analysis.claims.follows import Follows
from bfc_bench.analysis.claims.mean_evidence import Region, evidence, nothing, short
from bfc_bench.analysis.claims.measures import Point, difference_of, mean_of, measure, ratio_of
from bfc_bench.analysis.claims.reaches import Reaches
from bfc_bench.analysis.claims.scaling_law import ScalingLawClaim
from bfc_bench.analysis.claims.slope import Slope
from bfc_bench.analysis.claims.succeeds import Succeeds
from bfc_bench.analysis.claims.unchanged import Unchanged
from bfc_bench.analysis.claims.verdict import Finding, Verdict
from bfc_bench.analysis.intervals import CONFIDENCE, holm
from bfc_bench.errors import PluginError, UsageError, suggest
from bfc_bench.registry import Registry
from bfc_bench.store.row import Row
from bfc_bench.suite.model import ClaimEntry, Suite
from bfc_bench.utils.counted import counted

__all__ = [
    "KINDS",
    "Bounded",
    "Claim",
    "Finding",
    "Label",
    "Labels",
    "MetricName",
    "Point",
    "PointClaim",
    "Region",
    "TaskName",
    "Verdict",
    "difference_of",
    "evidence",
    "expected_errors",
    "finding_of",
    "mean_of",
    "measure",
    "nothing",
    "parse_claims",
    "ratio_of",
    "verdicts_on",
]

KINDS: tuple[type[Claim], ...] = (Reaches, Succeeds, Beats, ExponentClaim, Slope, ScalingLawClaim, Unchanged, Follows)
"""The built-in kinds."""

UNSEEN = 0.04
"""Probability with which no replicate shows something that happens as often as ``expected_errors`` says."""


def parse_claims(suite: Suite, kinds: Registry[type[Claim]], where: str = "suite") -> list[Claim]:
    """The claims that a suite declares."""
    return [_parse(entry, suite, kinds, f"{where}: claim {entry.id!r}") for entry in suite.claim]


def finding_of(claim: Claim, rows: Sequence[Row]) -> Finding:
    """What the rows say of a claim by itself, at the confidence of its look (``Claim.at_look``), with p for all looks.

    If a plugin's claim raises, it is undecided and its note has the exception.
    """
    try:
        finding = claim.about(rows).judge(rows)
        if not isinstance(finding, Finding):
            raise TypeError(f"judge must return a Finding. Got {finding!r}")
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or type(claim) in KINDS:
            raise
        note = f"{type(claim).__module__}.{type(claim).__qualname__} raised {type(error).__name__}: {error}"
        return Finding("", "undecided", math.nan, math.nan, math.nan, "", 0, math.nan, note)
    p = claim.look.p_of_all(finding.p)
    if claim.look.number and p > (1 - CONFIDENCE) * (1 + 1e-9):
        return replace(finding, p=p, verdict="undecided", but="")
    return replace(finding, p=p)


def verdicts_on(findings: Sequence[tuple[Claim, Finding]], family: bool = False) -> list[Verdict]:
    """The verdicts on claims, with p-values adjusted for all of them (Holm).

    With ``family`` a claim is undecided if its adjusted p exceeds .05: with a probability of .95 or more, none of the
    verdicts that are decided is then wrong.
    """
    adjusted = holm([finding.p for _, finding in findings])
    return [_verdict(claim, finding, p, family) for (claim, finding), p in zip(findings, adjusted, strict=True)]


def expected_errors(verdicts: Collection[Verdict], family: bool = False) -> str:
    """Sentences on how many of these verdicts to expect to be wrong, and on what they could not see."""
    count = len(verdicts)
    if family:
        bare = sum(verdict.verdict != "undecided" and math.isnan(verdict.p) for verdict in verdicts)
        text = (
            "Holm p decides: with a probability of at least .95, none of the verdicts on "
            f"{counted(count - bare, 'claim')} is wrong."
        )
        if bare:
            text += f" {counted(bare, 'verdict')} without p, on values that do not differ, cannot be adjusted."
    else:
        text = (
            f"Verdicts come from 95 % intervals, one claim at a time: of {count} expect up to .05 x {count} = "
            f"{0.05 * count:.2g} to be wrong. Holm p is adjusted for all of them, and decides with --family."
        )
    fewest = min((verdict.replicates for verdict in verdicts if verdict.verdict != "undecided"), default=0)
    if not fewest:
        return text
    unseen = 100 * (1 - UNSEEN ** (1 / fewest))
    fewest_behind = f"{counted(fewest, 'replicate')}, the fewest behind a verdict"
    return f"{text} With {fewest_behind}, a failure of up to {unseen:.2g} % of replicates can go unseen."


def _verdict(claim: Claim, finding: Finding, holm_p: float, family: bool) -> Verdict:
    own, look = vars(finding), claim.look
    if family and finding.verdict != "undecided" and holm_p > 1 - CONFIDENCE:
        why = f"{finding.verdict} by itself, but not together with the other claims: Holm p = {short(holm_p)}"
        own = own | {"verdict": "undecided", "but": "", "note": "; ".join(filter(None, (why, finding.note)))}
    return Verdict(
        **own, id=claim.id, kind=claim.kind, source=claim.source, sanity=claim.sanity,
        holm_p=holm_p, look=look.number, looks=look.of, confidence=look.confidence,
    )  # fmt: skip


def _parse(entry: ClaimEntry, suite: Suite, kinds: Registry[type[Claim]], where: str) -> Claim:
    kind = kinds.get(entry.kind, where)
    try:
        given = resolve_grids(entry.model_extra or {}, suite, kind, where)
        claim = kind.parse({"id": entry.id, "source": entry.source, **given}, where)
        _check_names(claim, suite, where)
    except UsageError:
        raise
    except Exception as error:
        who = f"kind {entry.kind!r} of plugin {kinds.origin(entry.kind)!r}"
        raise PluginError(f"{where}: {who} raised {type(error).__name__}: {error}") from error
    return claim


def _check_names(claim: Claim, suite: Suite, where: str) -> None:
    tasks, learners = {task.name for task in suite.task}, {learner.label: learner for learner in suite.learner}
    for task in claim.tasks:
        if task not in tasks:
            raise UsageError(f"{where}: unknown task {task!r}.{suggest(task, tasks)}")
    for label in claim.labels:
        if label not in learners:
            raise UsageError(f"{where}: unknown learner label {label!r}.{suggest(label, learners)}")
        runs_on = learners[label].tasks
        for task in claim.tasks:
            if runs_on is not None and task not in runs_on:
                known = ", ".join(runs_on)
                raise UsageError(f"{where}: {label!r} does not run on task {task!r}; its tasks are {known}.")
