"""Claim kind ``exponent``: how N*(level) grows with d, compared with bounds or with other learners."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from bfc_bench.analysis.claims.base import Bounded, Finite, MetricName, Names, Positive, in_words, that_of
from bfc_bench.analysis.claims.measures import failure_notes, ill_behaved_note
from bfc_bench.analysis.claims.verdict import Evidence, Region, Verdict, nothing, short
from bfc_bench.analysis.curves import Curve, curves_of
from bfc_bench.analysis.intervals import t_quantile
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.theory import Theories, expected_sizes, slope
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size
from bfc_bench.tasks.targets.harmonics import harmonics_dimension

SCATTERED = 0.05
"""Lack-of-fit p below which the scatter between dimensions limits the interval, and more replicates do not help."""


class ExponentClaim(Bounded):
    """The exponent s of N*(level) ~ d^s is within bounds, below that of other learners, or near an expected exponent.

    s is a slope over the d of the task. The expected exponent is that of the learner's own ``theory``, or of the number
    of spherical harmonics of degree ``harmonics``. For other learners, the exponent of the ratio of N* is judged,
    replicate by replicate.
    """

    kind: ClassVar[str] = "exponent"
    label: str
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""
    task: str
    """Name of a task that is measured at two d or more."""
    level: Positive = 0.1
    """Error level that defines N*(level)."""
    metric: MetricName = "nmse"
    """The error that must reach the level."""
    harmonics: Size | None = None
    """Degree p: s is within ``tolerance`` of the slope of log B(d, p) over the fitted d."""
    theory: bool = False
    """Whether s is within ``tolerance`` of the slope of the theory's log N*(level) over the fitted d."""
    tolerance: Positive | None = None
    """Allowed distance from the expected exponent; required by ``harmonics`` and ``theory``."""
    asymptotic: Finite | None = None
    """The exponent that the theorem gives as d grows; the report states it, and it is not judged."""
    below: Names | None = None
    """Labels of the others, which have larger exponents."""
    by: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """The exponents of the others are larger by at least this."""

    @model_validator(mode="after")
    def _one_form(self) -> ExponentClaim:
        bounded = self.at_most is not None or self.at_least is not None
        if [bounded, self.theory, self.harmonics is not None, self.below is not None].count(True) != 1:
            raise ValueError(
                "exactly one of bounds (at_most, at_least), theory, harmonics or other labels (below) is required"
            )
        if (self.theory or self.harmonics is not None) != (self.tolerance is not None):
            raise ValueError("theory and harmonics need a tolerance; the other forms have none")
        if self.theory and (self.metric != "nmse" or "/" in self.label):
            raise ValueError(
                f"theory predicts the nmse of a learner's final predictor. Got {self.metric!r} of {self.label!r}"
            )
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

    @property
    def n_star_level(self) -> float | None:
        """The level."""
        return self.level

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """The verdict without theories; a claim that compares with one is undecided."""
        return self.judge_beside(rows, {})

    def judge_beside(self, rows: Sequence[Row], theories: Theories) -> Verdict:
        """From the censored regression of log N*, or of the log ratio of N*, on log d."""
        curves = {name: curves_of(rows, name, self.task, self.metric) for name in self.predictors}
        ours = curves[self.label]
        quantity = f"The exponent in d of the N* of {self.label} for {in_words(self.metric)} ≤ {short(self.level)}"
        if self.below is None:
            measured = [curve.d for curve in ours]
            expected = self._expected(measured, theories)
            evidence, dims = self._evidence(ours, expected=expected)
            region, bound = self._allowed(dims if len(dims) > 1 else measured, expected)
            if ours and self.theory and region == Region():
                evidence = nothing(f"{self.label} offers no theory of N* on {self.task}")
            return self.verdict(f"{quantity} is {bound}{self._limit} ({self.task}).", region, evidence, log=False)
        pieces = {name: self._evidence(ours, curves[name])[0] for name in self.below}
        margin = f", by {short(self.by)} or more" if self.by else ""
        statement = f"{quantity} is below {that_of(self.below)}{margin}{self._limit} ({self.task})."
        return self.verdict(statement, Region(hi=0.0 - self.by), pieces, log=False)

    @property
    def _limit(self) -> str:
        return "" if self.asymptotic is None else f", asymptotically {short(self.asymptotic)}"

    def _expected(self, dims: Sequence[int], theories: Theories) -> dict[int, float]:
        """Expected sizes by d: the theory's N*, or B(d, p)."""
        if self.harmonics is not None:
            return {d: harmonics_dimension(d, self.harmonics) for d in dims}
        return expected_sizes(theories, self.task, self.label, self.level, dims) if self.theory else {}

    @property
    def _expected_names(self) -> tuple[str, str]:
        """In words, where the expected sizes come from, and what they are."""
        return ("its theory", "the N* of its theory") if self.harmonics is None else (f"B(d, {self.harmonics})",) * 2

    def _allowed(self, dims: Sequence[int], expected: Mapping[int, float]) -> tuple[Region, str]:
        """The region that the claim allows, and its description; unbounded if theory or fit give no exponent.

        ``dims`` are the fitted dimensions.
        """
        if self.tolerance is None:
            return self.region, self.bound
        words = f"within {short(self.tolerance)} of that of {self._expected_names[0]}"
        expected_slope = slope(expected, dims)
        if math.isnan(expected_slope):
            return Region(), words
        region = Region(expected_slope - self.tolerance, expected_slope + self.tolerance)
        return region, f"{words}, {expected_slope:.3g} over d = {dims[0]}..{dims[-1]}"

    def _evidence(
        self,
        ours: Sequence[Curve],
        others: Sequence[Curve] | None = None,
        expected: Mapping[int, float] | None = None,
    ) -> tuple[Evidence, tuple[int, ...]]:
        """Evidence about our exponent, or about ours minus that of the others, and the fitted dimensions.

        The bend of ``expected`` in log d does not count as lack of fit.
        """
        sides = [ours] if others is None else [others, ours]
        if not all(sides):
            return nothing(f"no {self.metric} on {self.task}, so no N*"), ()
        *theirs, mine = (scaling for side in sides for scaling in scalings(side, [self.level]))
        law = "one power of d"
        if theirs:
            fit = mine.exponent_minus(*theirs)
        elif expected:
            fit, law = mine.exponent_relative_to(expected), f"a power of d times {self._expected_names[1]}"
        else:
            fit = mine.exponent
        crossings = [at_d for scaling in (*theirs, mine) for at_d in scaling.crossings.values()]
        notes = [f"{fit.uncensored} values and {fit.censored} bounds"]
        if not fit.refused:
            notes += [f"d = {fit.dims[0]}..{fit.dims[-1]}", *[fit.note] * bool(fit.note)]
        notes += [fit.curvature] * bool(fit.curvature)
        by_means = fit.degrees == len(fit.dims) - 2
        scattered = (
            f"the dimensions do not lie on {law} (lack of fit p = {fit.lack_of_fit_p:.2g}): more d would "
            "narrow the interval, more replicates might not"
        )
        evidence = Evidence(
            mean=fit.value,
            error=(fit.hi - fit.value) / t_quantile(fit.degrees),
            error_below=(fit.value - fit.lo) / t_quantile(fit.degrees),
            degrees=fit.degrees,
            # More replicates add values, but no means per d.
            gain=0.0 if by_means else (fit.degrees + 2) / max(fit.replicates, 1),
            fixed=scattered if by_means and fit.lack_of_fit_p < SCATTERED else "",
            count=fit.replicates,
            notes=(*notes, *ill_behaved_note(*crossings), *failure_notes(curve for side in sides for curve in side)),
            refused=fit.refused,
        )
        return evidence, fit.dims
