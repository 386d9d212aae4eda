"""Claim kind ``follows``: a measured error, or N*, agrees with the learner's theory up to a factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from bfc_bench.analysis.claims.base import LabelClaim, NStarClaim
from bfc_bench.analysis.claims.mean_evidence import Evidence, Region, nothing, short
from bfc_bench.analysis.claims.measures import Point, evidence_of_n_stars, mean_of, measure
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.curves import FLOOR, curves_of
from bfc_bench.analysis.theory import expected_n_star, no_theory
from bfc_bench.store.row import Row


class Follows(LabelClaim, NStarClaim):
    """Measured over expected NMSE lies within [1 / factor, factor], in the geometric mean over replicates.

    The expected NMSE comes from the theory that the learner offers for the task. With ``level``, N*(level) is compared
    instead.
    """

    kind: ClassVar[str] = "follows"
    factor: Annotated[float, Field(gt=1, allow_inf_nan=False)]
    """How many times larger or smaller than expected the measured error, or N*, may be."""

    @model_validator(mode="after")
    def _of_a_theory(self) -> Follows:
        if self.metric != "nmse":
            raise ValueError(f"metric must be nmse, which theories predict. Got {self.metric!r}")
        if "/" in self.label:
            raise ValueError(f"label must be that of a learner, without a stage. Got {self.label!r}")
        return self

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From the t-interval of the mean log ratio of measured to expected values."""
        at = self.at(rows)
        what, where = f"The {self.quantity} of {self.label}", f" ({at})"
        if self.level is not None:
            what = f"The number of samples that {self.label} needs"
            where = f", to reach {self.quantity} ≤ {short(self.level)} ({at})"
        statement = f"{what} is that of its theory up to a factor {short(self.factor)}{where}."
        region = Region(1 / self.factor, self.factor)
        return self.verdict(statement, region, self._evidence(rows, at), log=True)

    def _evidence(self, rows: Sequence[Row], at: Point) -> Evidence:
        curves = curves_of(rows, self.label, self.task, self.metric, at.d)
        if not curves or at.d is None:
            return nothing(f"{self.label} has no {self.metric} on {at}")
        theory = self._theories.get((self.task, at.d, self.label))
        if theory is None:
            return nothing(no_theory(self._theories, self.task, at.d, self.label))
        note = f"theory: {theory.source}"
        if self.level is None:
            expected = theory.nmse(at.n or math.nan)
            if not FLOOR < expected < math.inf:
                return nothing(f"the theory of {self.label} has no positive finite error there: {expected:.3g}")
            measured = mean_of(measure(rows, self.label, self.metric, at))
        else:
            expected = expected_n_star(theory, self.level)
            if not math.isfinite(expected):
                return nothing(f"the theory of {self.label} never reaches the level")
            measured = evidence_of_n_stars((1.0,), curves, self.level)
            note += f", N* = {expected:.4g}"
        log_ratios = tuple((lo - math.log(expected), hi - math.log(expected)) for lo, hi in measured.ranges)
        return replace(measured, ranges=log_ratios, notes=(*measured.notes, note))
