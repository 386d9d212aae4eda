"""``unchanged``: a metric is the same, within a tolerance, at two stages of training or of two learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from bfc_bench.analysis.claims.base import PointClaim
from bfc_bench.analysis.claims.measures import ratio_of, sample
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Evidence, Region, Verdict
from bfc_bench.store.row import Row


class Unchanged(PointClaim):
    """metric(after) / metric(before) is within a factor 1 + tolerance of 1, in the geometric mean over replicates.

    Without a tolerance the claim can only be contradicted. Values that are identical in every replicate, as those of a
    frozen layer, are no estimate that has come out equal: they are unchanged.
    """

    kind: ClassVar[str] = "unchanged"
    before: str
    after: str
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @property
    def predictors(self) -> tuple[str, ...]:
        """Before, after."""
        return (self.before, self.after)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the paired t-interval of the log ratio."""
        at = self.at(rows)
        before, after = (sample(rows, name, self.metric, at) for name in (self.before, self.after))
        found = ratio_of(after, before)
        if found.mean == found.error == 0 and found.count >= MIN_REPLICATES:
            found = self._identical(found)
        within = f"the same within {100 * self.tolerance:.3g} %" if self.tolerance else "equal"
        statement = f"The {self.quantity} of {self.before} and of {self.after} is {within} ({at})."
        region = Region(1 / (1 + self.tolerance), 1 + self.tolerance)
        return self.verdict(statement, region, found, log=True)

    def _identical(self, found: Evidence) -> Evidence:
        if not self.tolerance:
            return replace(found, refused="identical in every replicate")
        return replace(found, refused="", notes=(*found.notes, "identical in every replicate: no test is needed"))
