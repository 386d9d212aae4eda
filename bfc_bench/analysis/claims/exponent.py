"""``exponent``: how N*(level) grows with d, against bounds or against other learners."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from pydantic import Field, model_validator

from bfc_bench.analysis.claims.base import Bounded, Metric, Names, Positive, in_words, that_of
from bfc_bench.analysis.claims.measures import failures, label_curves
from bfc_bench.analysis.claims.verdict import Evidence, Region, Verdict, nothing, short
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import Exponent, compare_exponents, fit_exponent
from bfc_bench.analysis.intervals import t_quantile
from bfc_bench.analysis.thresholds import Crossing, crossings
from bfc_bench.results import Row

Points: TypeAlias = Mapping[int, Sequence[Crossing]]


class ExponentClaim(Bounded):
    """The exponent s of N*(level) ~ d^s over the task's d is within the bounds, or below that of every other by ``by``.

    Against others it is the exponent of the ratio of N* that is judged, replicate by replicate.
    """

    kind: ClassVar[str] = "exponent"
    label: str
    task: str
    level: Positive = 0.1
    metric: Metric = "nmse"
    below: Names | None = None
    by: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @model_validator(mode="after")
    def _one_form(self) -> ExponentClaim:
        bounded = self.at_most is not None or self.at_least is not None
        if bounded == (self.below is not None):
            raise ValueError("either bounds (at_most, at_least) or other labels (below) are required, and not both")
        if self.below and self.label in self.below:
            raise ValueError(f"below must not name the label itself. Got {self.label!r}")
        return self

    @property
    def predictors(self) -> tuple[str, ...]:
        """The label, then the others."""
        return (self.label, *(self.below or ()))

    @property
    def tasks(self) -> tuple[str, ...]:
        """The task."""
        return (self.task,)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """From the censored regression of log N*, or of the log ratio of N*, on log d."""
        found = {name: label_curves(rows, name, self.task, self.metric) for name in self.predictors}
        ours = found[self.label]
        quantity = f"The exponent in d of the N* of {self.label} for {in_words(self.metric)} ≤ {short(self.level)}"
        if self.below is None:
            evidence = self._evidence([ours], lambda points: fit_exponent(points[0]))
            return self.verdict(f"{quantity} is {self.bound} ({self.task}).", self.region, evidence, log=False)
        pieces = {
            name: self._evidence([found[name], ours], lambda points: compare_exponents(*points)) for name in self.below
        }
        margin = f", by {short(self.by)} or more" if self.by else ""
        statement = f"{quantity} is below {that_of(self.below)}{margin} ({self.task})."
        return self.verdict(statement, Region(hi=0.0 - self.by), pieces, log=False)

    def _evidence(self, sides: Sequence[Sequence[Curve]], fit: Callable[[list[Points]], Exponent]) -> Evidence:
        """What a fit to the crossings by d of one or two sides says; the curves of a side may be none."""
        if not all(sides):
            return nothing(f"no {self.metric} on {self.task}, so no N*")
        try:
            found = fit([{curve.d: crossings(curve, self.level) for curve in side} for side in sides])
        except np.linalg.LinAlgError as error:
            return nothing(str(error))
        notes = [f"{found.uncensored} values and {found.censored} bounds"]
        if not found.refused:
            notes += [f"d = {found.dims[0]}..{found.dims[-1]}", *[found.note] * bool(found.note)]
        if not math.isnan(found.curvature_p):
            notes.append(f"curvature p = {found.curvature_p:.2g}, detectable change of slope {found.detectable:.2g}")
        return Evidence(
            mean=found.value,
            error=(found.hi - found.lo) / 2 / t_quantile(found.degrees),
            degrees=found.degrees,
            count=found.replicates,
            notes=(*notes, *failures(curve for side in sides for curve in side)),
            refused=found.refused,
        )
