"""Claim kind ``unchanged``: a metric is the same, within a tolerance, at two stages of training or of two learners."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field

from bfc_bench.analysis.claims.base import Label, PointClaim
from bfc_bench.analysis.claims.mean_evidence import MIN_REPLICATES, Evidence, Region
from bfc_bench.analysis.claims.measures import Measured, difference_of, measure, ratio_of
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import scale_of
from bfc_bench.store.row import Row


class Unchanged(PointClaim):
    """metric(after) / metric(before) is within a factor 1 + tolerance of 1, in the geometric mean over replicates.

    Errors in parts of the target may be negative. For them the claim is that neither arithmetic mean is more than
    1 + tolerance times the other: metric(after) - (1 + tolerance) metric(before) <= 0, and the same with ``before`` and
    ``after`` exchanged. Without a tolerance the claim can only be contradicted. Values that are identical in every
    replicate, such as those of a frozen layer, count as unchanged without a test.
    """

    kind: ClassVar[str] = "unchanged"
    before: Label
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""
    after: Label
    """The label, or stage, to compare with ``before``."""
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Fraction by which the two may differ."""

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From the paired t-interval of the log ratio, or from those of two differences."""
        at = self.at(rows)
        before, after = (measure(rows, name, self.metric, at) for name in (self.before, self.after))
        within = f"the same within {100 * self.tolerance:.3g} %" if self.tolerance else "equal"
        statement = f"The {self.quantity} of {self.before} and of {self.after} is {within} ({at})."
        if scale_of(self.metric) == "linear":
            return self.verdict(statement, *self._differences(after, before), log=False)
        region = Region(1 / (1 + self.tolerance), 1 + self.tolerance)
        return self.verdict(statement, region, self._unless_identical(ratio_of(after, before)), log=True)

    def _differences(self, after: Measured, before: Measured) -> tuple[Region, Mapping[str, Evidence]]:
        """A region, and differences whose means all lie in it if the claim is true."""
        difference = difference_of(after, before)
        if not self.tolerance or (difference.count and not difference.values.any()):
            return Region(0.0, 0.0), {"": self._unless_identical(difference)}
        factor = 1 + self.tolerance
        rise, fall = difference_of(after, before, factor), difference_of(before, after, factor)
        return Region(hi=0.0), {"a rise": rise, "a fall": fall}

    def _unless_identical(self, evidence: Evidence) -> Evidence:
        """The evidence; if the values are identical in every replicate, evidence that needs no test."""
        if evidence.values.any() or evidence.count < MIN_REPLICATES:
            return evidence
        if not self.tolerance:
            return replace(evidence, refused="identical in every replicate")
        return replace(evidence, refused="", notes=(*evidence.notes, "identical in every replicate: no test is needed"))
