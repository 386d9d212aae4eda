"""Interim analyses (*looks*) of claims, as a function of the rows.

A look is one test of a claim while replicates are still added. Replicates are nested, so a look reads those below its
number, whatever was added since, and needs no record: a claim is judged at each look whose cells all have rows, and the
first look that decides it is its verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bfc_bench.analysis.alpha_spending import levels
from bfc_bench.analysis.claims import Claim, Finding, finding_of
from bfc_bench.analysis.claims.measures import CurveKey, SizesByCurve
from bfc_bench.analysis.claims.verdict import LookLevel
from bfc_bench.store.rows import Rows
from bfc_bench.suite.sizes import sizes_at
from bfc_bench.utils.counted import counted


@dataclass(frozen=True)
class Look:
    """One interim analysis of one claim."""

    at: LookLevel
    """Number and confidence."""
    replicates: int
    more: int
    """How many replicates the look after this one adds; 0 if it is the last."""
    counts: Mapping[str, int]
    """By label, the look reads the replicates below this number: fewer of a learner that was beaten before."""
    sizes: SizesByCurve
    """The sizes of the suite that it reads; a look at N* reads others too."""
    rows: Rows
    """The rows that it reads, as far as they are there."""
    missing: Sequence[tuple[CurveKey, int, int]]
    """Curve, n and replicate of the cells that it lacks, of the suite's own sizes."""
    finding: Finding | None
    """What the rows say; None if cells are missing."""


@dataclass(frozen=True)
class ClaimLooks:
    """A claim with its looks: those made, and the next one if the claim is undecided."""

    claim: Claim
    looks: tuple[Look, ...]
    """Empty if the suite plans no looks."""

    @property
    def current_look(self) -> Look | None:
        """The look that gives the verdict: the last one made."""
        return next((look for look in reversed(self.looks) if look.finding), None)

    @property
    def next_look(self) -> Look | None:
        """The look that lacks cells; None if the claim is decided or all looks are made."""
        return next((look for look in self.looks if not look.finding), None)

    @property
    def claim_at_look(self) -> Claim:
        """The claim at the confidence of the look that gives its verdict, else of the first one."""
        look = self.current_look or self.next_look
        return self.claim.at_look(look.at) if look else self.claim

    def without_look(self, finding: Finding) -> Finding:
        """What the rows say before the first look: nothing yet, if looks are planned."""
        if not (look := self.next_look):
            return finding
        note = f"look 1 of {look.at.of} lacks {counted(len(look.missing), 'cell')}"
        return replace(finding, verdict="undecided", but="", note="; ".join(filter(None, (note, finding.note))))


def looks_at(claim: Claim, rows: Rows, sizes: SizesByCurve, looks: Sequence[int]) -> ClaimLooks:
    """The looks at a claim that knows its sizes and theories (``Claim.among``), of those that the suite plans.

    A claim about N* reads all sizes of its curves, any other claim those of the suite, ``sizes``.
    """
    curves = _curves(claim, of_sizes(rows, sizes), sizes)
    read = of_sizes(rows, curves) if claim.n_star_level is None else rows
    counts = dict.fromkeys(claim.labels, 0)
    made = list[Look]()
    for number, (replicates, level) in enumerate(zip(looks, levels(looks), strict=True), 1):
        at = LookLevel(number, len(looks), 1 - 2 * level)
        counts = {**counts, **dict.fromkeys(_open_labels(claim, made, at), replicates)}
        mask, missing = np.zeros(len(read), dtype=bool), []
        for curve, own_sizes in curves.items():
            place = read.positions_by_curve.get(curve, np.zeros(0, dtype=np.intp))
            n, replicate = read.n[place], read.replicate[place]
            mask[place] = replicate < counts[curve[1]]
            there = set(zip(n.tolist(), replicate.tolist(), strict=True))
            cells = [(n, replicate) for n in own_sizes for replicate in range(counts[curve[1]])]
            missing += [(curve, *cell) for cell in cells if cell not in there]
        seen = read.at(mask)
        finding = None if missing else finding_of(claim.at_look(at), seen)
        after = looks[number] - replicates if number < len(looks) else 0
        made.append(Look(at, replicates, after, counts, curves, seen, missing, finding))
        if finding is None or finding.verdict != "undecided":
            break
    return ClaimLooks(claim, tuple(made))


def _open_labels(claim: Claim, made: Sequence[Look], at: LookLevel) -> Sequence[str]:
    """The learners that need more replicates: not those beaten at the confidence of this look and of the one before.

    At the confidence of this look alone, its level would be spent on the replicates of both.
    """
    if not made:
        return claim.labels
    stricter, rows = max(made[-1].at, at, key=lambda one: one.confidence), made[-1].rows
    return claim.at_look(stricter).about(rows).undecided_part(rows).labels


def _curves(claim: Claim, own: Rows, sizes: SizesByCurve) -> SizesByCurve:
    """The sizes of the suite that a claim reads."""
    labels = claim.labels
    return {
        (task, label, d): tuple(n for n in of_curve if point.n in (None, n)) or (point.n or 0,)
        for point in claim.points(own)
        for (task, label, d), of_curve in sizes.items()
        if task == point.task and label in labels and point.d in (None, d)
    }


def own_sizes(suite: Mapping[str, Any]) -> SizesByCurve:
    """The sizes of each curve in the definition of a suite; none if replicates have sizes of their own (``locate``)."""
    return {
        (task["name"], entry.get("label") or entry["name"], d): sizes
        for entry in suite.get("learner", ())
        if not suite.get("locate")
        for task in suite.get("task", ())
        if task["name"] in (entry.get("tasks") or [task["name"]])
        for d in task.get("d") or ()
        if d <= (entry.get("max_d") or d)
        for of_task in [sizes_at(task["n"], {"d": d, **task.get("axes", {})})]
        if (sizes := tuple(n for n in of_task if n <= (entry.get("max_n") or n)))
    }


def of_sizes(rows: Rows, sizes: SizesByCurve) -> Rows:
    """The rows of some sizes."""
    kept = np.zeros(len(rows), dtype=bool)
    for curve, place in rows.positions_by_curve.items():
        kept[place] = np.isin(rows.n[place], sizes.get(curve, ()))
    return rows.at(kept)
