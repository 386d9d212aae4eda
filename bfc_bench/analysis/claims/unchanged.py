"""Claim kind ``unchanged``: a metric is the same, within a tolerance, at two stages of training or of two learners."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from bfc_bench.analysis.claims.base import Label, PointClaim, Positive
from bfc_bench.analysis.claims.mean_evidence import MIN_REPLICATES, Evidence, Region
from bfc_bench.analysis.claims.measures import measure, no_logarithm, ratio_of
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import scale_of
from bfc_bench.store.row import Row


class Unchanged(PointClaim):
    """metric(after) / metric(before) is within a factor 1 + tolerance of 1, in the geometric mean over replicates.

    Values that are identical in every replicate, such as those of a frozen layer, count as unchanged without a test.
    Errors in parts of the target may be negative and have no ratio, so a claim about them is undecided.
    """

    kind: ClassVar[str] = "unchanged"
    before: Label
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""
    after: Label
    """The label, or stage, to compare with ``before``."""
    tolerance: Positive
    """Fraction by which the two may differ."""

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From the paired t-interval of the log ratio."""
        at, region = self.at(rows), Region(1 / (1 + self.tolerance), 1 + self.tolerance)
        statement = (
            f"The {self.quantity} of {self.before} and of {self.after} is the same within {100 * self.tolerance:.3g} % "
            f"({at})."
        )
        if scale_of(self.metric) == "linear":
            found = no_logarithm(self.metric, "ratio")
        else:
            before, after = (measure(rows, name, self.metric, at) for name in (self.before, self.after))
            found = _unless_identical(ratio_of(after, before))
        return self.verdict(statement, region, found, log=True)


def _unless_identical(evidence: Evidence) -> Evidence:
    """The evidence; if the values are identical in every replicate, evidence that needs no test."""
    if evidence.values.any() or evidence.count < MIN_REPLICATES:
        return evidence
    return replace(evidence, refused="", notes=(*evidence.notes, "identical in every replicate: no test is needed"))
