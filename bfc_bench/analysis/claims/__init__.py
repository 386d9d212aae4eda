"""Claims of a suite and their verdicts: one file per kind of claim.

A verdict comes from a 95 % interval, never from an estimate: supported where the interval lies inside the region that
the claim names, contradicted where it lies outside, else undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace

from bfc_bench.analysis.claims.base import Claim
from bfc_bench.analysis.claims.beats import Beats
from bfc_bench.analysis.claims.drops import Drops
from bfc_bench.analysis.claims.exponent import ExponentClaim
from bfc_bench.analysis.claims.precedes import Precedes
from bfc_bench.analysis.claims.reaches import Reaches
from bfc_bench.analysis.claims.slope import Slope
from bfc_bench.analysis.claims.unchanged import Unchanged
from bfc_bench.analysis.claims.verdict import Verdict
from bfc_bench.analysis.compare import holm
from bfc_bench.errors import UsageError, suggest
from bfc_bench.store.row import Row
from bfc_bench.suite.model import ClaimEntry, Suite

__all__ = ["KINDS", "Claim", "Verdict", "expected_errors", "judge", "parse_claims"]

KINDS: dict[str, type[Claim]] = {
    claim.kind: claim for claim in (Reaches, Beats, ExponentClaim, Slope, Drops, Unchanged, Precedes)
}
"""Every kind by name."""


def parse_claims(suite: Suite, where: str = "suite") -> list[Claim]:
    """The claims that a suite declares.

    Raises ``UsageError`` naming ``where``, the claim and what is wrong: an unknown kind, a wrong or missing field, a
    label or a task that the suite does not have, a learner that does not run on the task.
    """
    return [_parse(entry, suite, f"{where}: claim {entry.id!r}") for entry in suite.claim]


def judge(claims: Iterable[Claim], rows: Sequence[Row]) -> list[Verdict]:
    """A verdict per claim from the rows of a suite, with p-values adjusted for all of them (Holm)."""
    verdicts = [claim.judge(rows) for claim in claims]
    adjusted = holm([verdict.p for verdict in verdicts])
    return [replace(verdict, holm_p=p) for verdict, p in zip(verdicts, adjusted, strict=True)]


def expected_errors(verdicts: Sized) -> str:
    """What readers of many verdicts must know."""
    count = len(verdicts)
    return (
        f"Verdicts come from 95 % intervals, one claim at a time: of {count} expect up to .05 x {count} = "
        f"{0.05 * count:.2g} to be wrong. Holm p is adjusted for all of them."
    )


def _parse(entry: ClaimEntry, suite: Suite, where: str) -> Claim:
    kind = KINDS.get(entry.kind)
    if kind is None:
        raise UsageError(f"{where}: unknown kind {entry.kind!r}.{suggest(entry.kind, KINDS)}")
    claim = kind.parse({"id": entry.id, "source": entry.source, **(entry.model_extra or {})}, where)
    tasks, learners = {task.name for task in suite.task}, {learner.label: learner for learner in suite.learner}
    for task in claim.tasks:
        if task not in tasks:
            raise UsageError(f"{where}: unknown task {task!r}.{suggest(task, tasks)}")
    for label in claim.labels:
        if label not in learners:
            raise UsageError(f"{where}: unknown learner label {label!r}.{suggest(label, learners)}")
        its = learners[label].tasks
        for task in claim.tasks:
            if its is not None and task not in its:
                raise UsageError(f"{where}: {label!r} does not run on task {task!r}; its tasks are {', '.join(its)}.")
    return claim
