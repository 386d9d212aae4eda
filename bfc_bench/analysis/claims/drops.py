"""``drops``: a metric falls by a factor from one stage of training, or one learner, to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bfc_bench.analysis.claims.base import PointClaim, Positive
from bfc_bench.analysis.claims.measures import ratio_of, sample
from bfc_bench.analysis.claims.verdict import Region, Verdict, short
from bfc_bench.store.row import Row


class Drops(PointClaim):
    """metric(after) / metric(before) <= 1 / factor, in the geometric mean over the replicates that have both."""

    kind: ClassVar[str] = "drops"
    before: str
    after: str
    factor: Positive = 1.0

    @property
    def predictors(self) -> tuple[str, ...]:
        """Before, after."""
        return (self.before, self.after)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the paired t-interval of the log ratio."""
        at = self.at(rows)
        found = ratio_of(sample(rows, self.after, self.metric, at), sample(rows, self.before, self.metric, at))
        fall = f"by a factor of {short(self.factor)} or more " if self.factor != 1 else ""
        statement = f"The {self.quantity} falls {fall}from {self.before} to {self.after} ({at})."
        return self.verdict(statement, Region(hi=1 / self.factor), found, log=True)
