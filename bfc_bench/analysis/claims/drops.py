"""Claim kind ``drops``: a metric falls by a factor from one stage of training, or one learner, to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bfc_bench.analysis.claims.base import PointClaim, Positive
from bfc_bench.analysis.claims.measures import measure
from bfc_bench.analysis.claims.verdict import Verdict, short
from bfc_bench.store.row import Row


class Drops(PointClaim):
    """metric(after) / metric(before) <= 1 / factor, in the geometric mean over the replicates that have both.

    Errors in parts of the target may be negative. For them the claim is metric(after) - metric(before) / factor <= 0,
    in the arithmetic mean.
    """

    kind: ClassVar[str] = "drops"
    before: str
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""
    after: str
    """The label, or stage, with the lower value."""
    factor: Positive = 1.0
    """The metric falls at least by this factor."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """``before`` and ``after``."""
        return (self.before, self.after)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the paired t-interval."""
        at = self.at(rows)
        pair = (measure(rows, self.after, self.metric, at), measure(rows, self.before, self.metric, at))
        fall = f"by a factor of {short(self.factor)} or more " if self.factor != 1 else ""
        statement = f"The {self.quantity} falls {fall}from {self.before} to {self.after} ({at})."
        return self.at_most_a_share(statement, {"": pair}, self.factor)
