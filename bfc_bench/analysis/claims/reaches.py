"""Claim kind ``reaches``: the metric of one predictor at one point is at most, or at least, a bound."""

from collections.abc import Sequence
from typing import ClassVar

from bfc_bench.analysis.claims.base import Bounded, LabelClaim, Positive
from bfc_bench.analysis.claims.measures import mean_of, measure
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import scale_of
from bfc_bench.store.row import Row


class Reaches(LabelClaim, Bounded):
    """The geometric mean over replicates of the metric, at (task, d, n), is within the bounds.

    Errors in parts of the target may be negative, so their arithmetic mean is used, as for error rates on data.
    """

    kind: ClassVar[str] = "reaches"

    at_most: Positive | None = None
    """The upper bound."""
    at_least: Positive | None = None
    """The lower bound."""

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From the t-interval of the mean log metric, or of the mean metric if it may be negative."""
        at = self.at(rows)
        found = mean_of(measure(rows, self.label, self.metric, at))
        statement = f"The {self.quantity} of {self.label} is {self.bound} ({at})."
        return self.verdict(statement, self.region, found, log=scale_of(self.metric) == "log")
