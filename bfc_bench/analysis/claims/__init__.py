"""Claims of a suite and their verdicts: one module per kind of claim.

A verdict comes from a 95 % interval, never from an estimate alone: supported if the interval lies inside the region
that the claim names, contradicted if it lies outside, else undecided.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from bfc_bench.analysis.claims.axes import resolve_grids
from bfc_bench.analysis.claims.base import Bounded, Claim, MetricName, Names, PointClaim
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.analysis.claims.follows import Follows
from bfc_bench.analysis.claims.measures import Point, difference_of, mean_of, measure, ratio_of
from bfc_bench.analysis.claims.reaches import Reaches
from bfc_bench.analysis.claims.scaling_law import ScalingLawClaim
from bfc_bench.analysis.claims.slope import Slope
from bfc_bench.analysis.claims.succeeds import Succeeds
from bfc_bench.analysis.claims.unchanged import Unchanged
from bfc_bench.analysis.claims.verdict import Region, Verdict, evidence, nothing, short
from bfc_bench.analysis.intervals import CONFIDENCE, holm
from bfc_bench.analysis.theory import Theories
from bfc_bench.errors import PluginError, UsageError, suggest
from bfc_bench.registry import Registry
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows
from bfc_bench.suite.model import ClaimEntry, Suite
from bfc_bench.utils.counted import counted

__all__ = [
    "KINDS",
    "Bounded",
    "Claim",
    "MetricName",
    "Names",
    "Point",
    "PointClaim",
    "Region",
    "Verdict",
    "decided_together",
    "difference_of",
    "evidence",
    "expected_errors",
    "judge",
    "mean_of",
    "measure",
    "nothing",
    "parse_claims",
    "ratio_of",
]

KINDS: tuple[type[Claim], ...] = (Reaches, Succeeds, Beats, ExponentClaim, Slope, ScalingLawClaim, Unchanged, Follows)
"""The built-in kinds."""

UNSEEN = 0.04
"""Probability with which no replicate shows something that happens as often as ``expected_errors`` says."""


def parse_claims(suite: Suite, kinds: Registry[type[Claim]], where: str = "suite") -> list[Claim]:
    """The claims that a suite declares."""
    return [_parse(entry, suite, kinds, f"{where}: claim {entry.id!r}") for entry in suite.claim]


def judge(
    claims: Iterable[Claim],
    rows: Sequence[Row],
    theories: Theories | None = None,
    rows_by_claim: Mapping[str, Sequence[Row]] | None = None,
) -> list[Verdict]:
    """A verdict per claim, with p-values adjusted for all of them (Holm).

    A claim with a look (``Claim.at_look``) is judged at the confidence of that look. If a plugin's claim raises, it is
    undecided and its note has the exception.
    """
    rows, known, own_rows = Rows.of(rows), {} if theories is None else theories, rows_by_claim or {}
    return together(_judge(claim, own_rows.get(claim.id, rows), known) for claim in claims)


def together(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts with p-values adjusted for all of them (Holm)."""
    verdicts = list(verdicts)
    adjusted = holm([verdict.p for verdict in verdicts])
    return [replace(verdict, holm_p=p) for verdict, p in zip(verdicts, adjusted, strict=True)]


def decided_together(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts with those undecided whose p, adjusted for all claims (Holm), exceeds .05.

    With a probability of .95 or more, none of the verdicts that remain is wrong.
    """
    return [_together(verdict) for verdict in verdicts]


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


def _together(verdict: Verdict) -> Verdict:
    if verdict.verdict == "undecided" or not verdict.holm_p > 1 - CONFIDENCE:
        return verdict
    alone = f"{verdict.verdict} by itself, but not together with the other claims: Holm p = {short(verdict.holm_p)}"
    return replace(verdict, verdict="undecided", but="", note="; ".join([alone, *[verdict.note] * bool(verdict.note)]))


def _judge(claim: Claim, rows: Sequence[Row], theories: Theories) -> Verdict:
    try:
        verdict = claim.about(rows).judge_beside(rows, theories)
        if not isinstance(verdict, Verdict):
            raise TypeError(f"judge must return a Verdict. Got {verdict!r}")
        verdict = replace(verdict, sanity=claim.sanity)
        return verdict if claim.look is None else claim.look.apply_to(verdict)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or type(claim) in KINDS:
            raise
        note = f"{type(claim).__module__}.{type(claim).__qualname__} raised {type(error).__name__}: {error}"
        nan = math.nan
        return Verdict(claim.id, claim.kind, claim.source, "", "undecided", nan, nan, nan, "", 0, nan, note=note)


def _parse(entry: ClaimEntry, suite: Suite, kinds: Registry[type[Claim]], where: str) -> Claim:
    kind = kinds.get(entry.kind, where)
    try:
        given = resolve_grids(entry.model_extra or {}, suite, kind.model_fields, where)
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
