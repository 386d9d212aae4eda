"""``unchanged``: a metric is the same, within a tolerance, at two stages of training or of two learners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from bfc_bench.analysis.claims.base import PointClaim
from bfc_bench.analysis.claims.measures import Measured, difference_of, measure, ratio_of
from bfc_bench.analysis.claims.verdict import MIN_REPLICATES, Evidence, Region, Verdict
from bfc_bench.store.row import Row


class Unchanged(PointClaim):
    """metric(after) / metric(before) is within a factor 1 + tolerance of 1, in the geometric mean over replicates.

    For errors in parts of the target, which may be negative: in the arithmetic mean neither is more than 1 + tolerance
    times the other, metric(after) - (1 + tolerance) metric(before) <= 0 and the same the other way round.
    Without a tolerance the claim can only be contradicted. Values that are identical in every replicate, as those of a
    frozen layer, are no estimate that has come out equal: they are unchanged.
    """

    kind: ClassVar[str] = "unchanged"
    before: str
    """A learner's label, or `LABEL/STAGE` for an intermediate predictor of it."""
    after: str
    """The label, or stage, that is compared with it."""
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """By which share the two may differ."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """Before, after."""
        return (self.before, self.after)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the paired t-interval of the log ratio, or from those of two differences."""
        at = self.at(rows)
        before, after = (measure(rows, name, self.metric, at) for name in (self.before, self.after))
        within = f"the same within {100 * self.tolerance:.3g} %" if self.tolerance else "equal"
        statement = f"The {self.quantity} of {self.before} and of {self.after} is {within} ({at})."
        if before.scale == "linear":
            return self.verdict(statement, *self._differences(after, before), log=False)
        region = Region(1 / (1 + self.tolerance), 1 + self.tolerance)
        return self.verdict(statement, region, self._settled(ratio_of(after, before)), log=True)

    def _differences(self, after: Measured, before: Measured) -> tuple[Region, Mapping[str, Evidence]]:
        """A region, and differences that all lie in it where the claim is true."""
        equal = difference_of(after, before)
        if not self.tolerance or equal.mean == equal.error == 0:
            return Region(0.0, 0.0), {"": self._settled(equal)}
        factor = 1 + self.tolerance
        rise, fall = difference_of(after, before, factor), difference_of(before, after, factor)
        return Region(hi=0.0), {"a rise": rise, "a fall": fall}

    def _settled(self, found: Evidence) -> Evidence:
        """The evidence, or what to say of values that are identical in every replicate."""
        identical = found.mean == found.error == 0 and found.count >= MIN_REPLICATES
        return self._identical(found) if identical else found

    def _identical(self, found: Evidence) -> Evidence:
        if not self.tolerance:
            return replace(found, refused="identical in every replicate")
        return replace(found, refused="", notes=(*found.notes, "identical in every replicate: no test is needed"))
