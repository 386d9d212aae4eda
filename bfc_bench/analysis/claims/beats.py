"""Claim kind ``beats``: the error of one predictor, or its N*, is below that of one or several others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from pydantic import model_validator

from bfc_bench.analysis.claims.base import LabelClaim, Labels, NStarClaim, Positive, share, that_of
from bfc_bench.analysis.claims.mean_evidence import Evidence, Region, nothing, short
from bfc_bench.analysis.claims.measures import Point, difference_of, measure, n_star_ratio, ratio_of
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import curves_of, scale_of
from bfc_bench.store.row import Row


class Beats(LabelClaim, NStarClaim):
    """metric(label) / metric(other) <= 1 / factor for every other, in the geometric mean over common replicates.

    For error rates on data it is the ratio of their arithmetic means. Errors in parts of the target may be negative.
    For them the claim is metric(label) - metric(other) / factor <= 0, in the arithmetic mean. With ``level``, N*(level)
    at one d is compared instead of the error. An N* beyond the tested sizes enters as a bound.
    """

    kind: ClassVar[str] = "beats"
    against: Labels
    """Labels of the others. The claim needs all of them to be beaten."""
    factor: Positive = 1.0
    """The error, or N*, of the others is at least this many times as large."""

    @model_validator(mode="after")
    def _consistent(self) -> Beats:
        if self.label in self.against:
            raise ValueError(f"against must not name the label itself. Got {self.label!r}")
        return self

    def undecided_part(self, rows: Sequence[Row]) -> Beats:
        """The claim about those others alone that are not beaten yet."""
        each = {name: self.model_copy(update={"against": (name,)}) for name in self.against}
        open_ = tuple(name for name, claim in each.items() if claim.judge(rows).verdict != "supported")
        return self.model_copy(update={"against": open_ or self.against})

    def without(self, labels: Collection[str]) -> Beats | None:
        """The claim about the others but these; None if it is about these alone, or if its own label is one of them."""
        left = tuple(name for name in self.against if name.partition("/")[0] not in labels)
        own = self.label.partition("/")[0]
        return self.model_copy(update={"against": left}) if left and own not in labels else None

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From paired t-intervals; of several others, the nearest one decides."""
        at = self.at(rows)
        others = that_of(self.against)
        if self.level is None:
            ours = measure(rows, self.label, self.metric, at)
            theirs = {name: measure(rows, name, self.metric, at) for name in self.against}
            statement = f"The {self.quantity} of {self.label} is at most {share(self.factor)}{others} ({at})."
            if scale_of(self.metric) == "linear":
                differences = {name: difference_of(ours, of, 1 / self.factor) for name, of in theirs.items()}
                return self.verdict(statement, Region(hi=0.0), differences, log=False)
            ratios = {name: ratio_of(ours, of) for name, of in theirs.items()}
        else:
            ratios = {name: self._n_star_ratio(rows, name, at, self.level) for name in self.against}
            needs = f"The number of samples that {self.label} needs is at most {share(self.factor)}{others}"
            statement = f"{needs}, to reach {self.quantity} ≤ {short(self.level)} ({at})."
        return self.verdict(statement, Region(hi=1 / self.factor), ratios, log=True)

    def _n_star_ratio(self, rows: Sequence[Row], other: str, at: Point, level: float) -> Evidence:
        curves = {name: curves_of(rows, name, at.task, self.metric, at.d) for name in (self.label, other)}
        if missing := [name for name, of in curves.items() if not of]:
            return nothing(f"{missing[0]} has no {self.metric} on {at}")
        return n_star_ratio(curves[self.label][0], curves[other][0], level)
