"""Claim kind ``scaling-law``: an exponent of error ~ c + a n^-b, or of error ~ c + a M^-p + b n^-q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import model_validator

from bfc_bench.analysis.claims.base import Bounded, Labels, MetricName, TaskNames, in_words
from bfc_bench.analysis.claims.mean_evidence import Evidence, evidence, nothing, short
from bfc_bench.analysis.claims.measures import Point, failure_notes, no_logarithm
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import Curve, curves_of, scale_of
from bfc_bench.analysis.laws import ScalingLaw, law_of
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size

DOUBTFUL = 0.05
"""Lack-of-fit p below which a verdict is quoted with it."""


class ScalingLawClaim(Bounded):
    """An exponent of error ~ c + a n^-b, or of the joint law c + a M^-p + b n^-q, is within bounds.

    One law is fitted to all replicates together. M is ``second``: the number of parameters or an axis of the grid.
    The joint law is that of all labels on all tasks, which differ in M. Errors in parts of the target may be negative
    and have no logarithm, so a claim about them is undecided.
    """

    kind: ClassVar[str] = "scaling-law"
    label: Labels
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors; for a joint law also a list."""
    task: TaskNames
    """Name of the task; for a joint law also a list."""
    second: str | None = None
    """Name of M: `parameters` or an axis of the grid; None for the law in n alone."""
    exponent: str = "n"
    """The number whose exponent is judged: `n`, or the name of M."""
    d: Size | None = None
    """Input dimension; the largest of each task by default."""
    over_log: bool = False
    """Whether the law is one in n / log n, as theorems on SGD with geometrically decaying steps have it."""
    metric: MetricName = "nmse"
    """The error."""

    @model_validator(mode="after")
    def _complete(self) -> ScalingLawClaim:
        if self.exponent not in ("n", self.second):
            raise ValueError(f"exponent must be n or the second number. Got {self.exponent!r} and {self.second!r}")
        if self.second == "n":
            raise ValueError("second must be another number than n, such as parameters. Got 'n'")
        if self.second is None and len(self.label) * len(self.task) > 1:
            raise ValueError("several labels or tasks need a second number in which they differ, such as parameters")
        return self

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """All n of the tasks, at their d."""
        return [Point(task, self.located(rows, task, self.d).d, None) for task in self.tasks]

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From one value of the exponent per replicate; failed cells leave both sides open."""
        curves = [
            curve
            for at in self.points(rows)
            for name in self.predictors
            for curve in curves_of(rows, name, at.task, self.metric, at.d)
        ]
        lawless = not curves or scale_of(self.metric) == "linear"
        law = None if lawless else law_of(rows, curves, self.second, self.over_log)
        where = "; ".join(str(at) for at in self.points(rows))
        n = "n / log n" if self.over_log else "n"
        powers = f"{n} and {self.second}" if self.second else n
        judged = n if self.exponent == "n" else self.exponent
        statement = (
            f"The exponent of {judged} in the law of the {in_words(self.metric)} of {' and '.join(self.label)} "
            f"in {powers}, with a floor, is {self.bound} ({where})."
        )
        but = ""
        if law is not None and law.lack_of_fit_p < DOUBTFUL:
            but = f"the errors depart from the law (lack of fit p = {short(law.lack_of_fit_p)})"
        return self.verdict(statement, self.region, self._evidence(curves, law), log=False, but=but)

    def _evidence(self, curves: Sequence[Curve], law: ScalingLaw | None) -> Evidence:
        if not curves:
            return nothing(f"no {self.metric} on {' or '.join(self.task)}, so no law")
        if law is None:
            return no_logarithm(self.metric, "law")
        if law.refused:
            return nothing(law.refused)
        unsure = any(bool(curve.failures.any()) for curve in curves)
        checks = f"lack of fit p = {law.lack_of_fit_p:.2g}; {law.extrapolation}"
        notes = (f"floor {law.floor}", checks, *failure_notes(curves))
        found = evidence(law.values[self.exponent], open_below=unsure, open_above=unsure, notes=notes)
        return replace(found, pseudo=True)
