"""``exponent``: how N*(level) grows with d, against bounds or against other learners."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from bfc_bench.analysis.claims.base import Bounded, Finite, MetricName, Names, Positive, in_words, that_of
from bfc_bench.analysis.claims.measures import failures, ill_behaved
from bfc_bench.analysis.claims.verdict import Evidence, Region, Verdict, nothing, short
from bfc_bench.analysis.curves import Curve, curves_of
from bfc_bench.analysis.intervals import t_quantile
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.theory import Theories, expected_sizes, slope
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size
from bfc_bench.tasks.targets.harmonics import harmonics_dimension

SCATTERED = 0.05
"""Lack-of-fit p below which more replicates are not expected to narrow an interval that the dimensions set."""


class ExponentClaim(Bounded):
    """The exponent s of N*(level) ~ d^s over the task's d is within the bounds, below that of every other by ``by``, or
    within ``tolerance`` of that of the learner's own ``theory`` or of the number of harmonics of degree ``harmonics``.

    Against others it is the exponent of the ratio of N* that is judged, replicate by replicate.
    """

    kind: ClassVar[str] = "exponent"
    label: str
    """A learner's label, or `LABEL/STAGE` for an intermediate predictor of it."""
    task: str
    """Name of the task, measured at two d or more."""
    level: Positive = 0.1
    """Of the error, to which the sample sizes N*(level) belong."""
    metric: MetricName = "nmse"
    """The error."""
    harmonics: Size | None = None
    """p: the bounds are the slope of log B(d, p) over the fitted d, less and plus ``tolerance``."""
    theory: bool = False
    """The bounds are the slope of the theory's log N*(level) over the fitted d, less and plus ``tolerance``."""
    tolerance: Positive | None = None
    """How far from the exponent that it is compared with; required by ``harmonics`` and ``theory``."""
    asymptotic: Finite | None = None
    """The exponent of the theorem as d grows, for the report: it is stated, not judged."""
    below: Names | None = None
    """Labels of the others, whose exponents are larger."""
    by: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """By how much they are larger at least."""

    @model_validator(mode="after")
    def _one_form(self) -> ExponentClaim:
        bounded = self.at_most is not None or self.at_least is not None
        if [bounded, self.theory, self.harmonics is not None, self.below is not None].count(True) != 1:
            raise ValueError(
                "bounds (at_most, at_least), theory, harmonics or other labels (below) are required, and only one"
            )
        if (self.theory or self.harmonics is not None) != (self.tolerance is not None):
            raise ValueError("theory and harmonics need a tolerance, and tolerance belongs to them")
        if self.theory and (self.metric != "nmse" or "/" in self.label):
            raise ValueError(f"theory is about the nmse of a learner. Got {self.metric!r} of {self.label!r}")
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
        """Without theories one that compares with them is undecided."""
        return self.judge_beside(rows, {})

    def judge_beside(self, rows: Sequence[Row], theories: Theories) -> Verdict:
        """From the censored regression of log N*, or of the log ratio of N*, on log d."""
        found = {name: curves_of(rows, name, self.task, self.metric) for name in self.predictors}
        ours = found[self.label]
        quantity = f"The exponent in d of the N* of {self.label} for {in_words(self.metric)} ≤ {short(self.level)}"
        if self.below is None:
            measured = [curve.d for curve in ours]
            expected = self._expected(measured, theories)
            evidence, dims = self._evidence(ours, expected=expected)
            region, bound = self._allowed(dims if len(dims) > 1 else measured, expected)
            if ours and self.theory and region == Region():
                evidence = nothing(f"{self.label} offers no theory of N* on {self.task}")
            return self.verdict(f"{quantity} is {bound}{self._limit} ({self.task}).", region, evidence, log=False)
        pieces = {name: self._evidence(ours, found[name])[0] for name in self.below}
        margin = f", by {short(self.by)} or more" if self.by else ""
        statement = f"{quantity} is below {that_of(self.below)}{margin}{self._limit} ({self.task})."
        return self.verdict(statement, Region(hi=0.0 - self.by), pieces, log=False)

    @property
    def _limit(self) -> str:
        return "" if self.asymptotic is None else f", asymptotically {short(self.asymptotic)}"

    def _expected(self, dims: Sequence[int], theories: Theories) -> dict[int, float]:
        """The sizes, by d, with whose exponent ours is compared: the theory's N*, or B(d, p)."""
        if self.harmonics is not None:
            return {d: harmonics_dimension(d, self.harmonics) for d in dims}
        return expected_sizes(theories, self.task, self.label, self.level, dims) if self.theory else {}

    @property
    def _standard(self) -> tuple[str, str]:
        """Whose sizes these are, and what they are called."""
        return ("its theory", "the N* of its theory") if self.harmonics is None else (f"B(d, {self.harmonics})",) * 2

    def _allowed(self, dims: Sequence[int], expected: Mapping[int, float]) -> tuple[Region, str]:
        """The region that the claim allows, in numbers and in words; ``dims`` are those of the fit, if there is one.

        Without bounds where theory or the fit gives none.
        """
        if self.tolerance is None:
            return self.region, self.bound
        words = f"within {short(self.tolerance)} of that of {self._standard[0]}"
        standard = slope(expected, dims)
        if math.isnan(standard):
            return Region(), words
        region = Region(standard - self.tolerance, standard + self.tolerance)
        return region, f"{words}, {standard:.3g} over d = {dims[0]}..{dims[-1]}"

    def _evidence(
        self,
        ours: Sequence[Curve],
        others: Sequence[Curve] | None = None,
        expected: Mapping[int, float] | None = None,
    ) -> tuple[Evidence, tuple[int, ...]]:
        """What is known of our exponent, or of ours minus the others', and the d that it is fitted to.

        Where N* is expected to grow as ``expected`` does, how this bends counts as no lack of fit.
        """
        sides = [ours] if others is None else [others, ours]
        if not all(sides):
            return nothing(f"no {self.metric} on {self.task}, so no N*"), ()
        *theirs, mine = (scaling for side in sides for scaling in scalings(side, [self.level]))
        law = "one power of d"
        if theirs:
            found = mine.exponent_beyond(*theirs)
        elif expected:
            found, law = mine.exponent_beside(expected), f"a power of d times {self._standard[1]}"
        else:
            found = mine.exponent
        crossings = [at_d for scaling in (*theirs, mine) for at_d in scaling.crossings.values()]
        notes = [f"{found.uncensored} values and {found.censored} bounds"]
        if not found.refused:
            notes += [f"d = {found.dims[0]}..{found.dims[-1]}", *[found.note] * bool(found.note)]
        notes += [found.curvature] * bool(found.curvature)
        by_means = found.degrees == len(found.dims) - 2
        scattered = (
            f"the dimensions do not lie on {law} (lack of fit p = {found.lack_of_fit_p:.2g}): more d would "
            "narrow the interval, more replicates need not"
        )
        evidence = Evidence(
            mean=found.value,
            error=(found.hi - found.value) / t_quantile(found.degrees),
            error_below=(found.value - found.lo) / t_quantile(found.degrees),
            degrees=found.degrees,
            # The means per d stay as many, and values come with each replicate.
            gain=0.0 if by_means else (found.degrees + 2) / max(found.replicates, 1),
            fixed=scattered if by_means and found.lack_of_fit_p < SCATTERED else "",
            count=found.replicates,
            notes=(*notes, *ill_behaved(*crossings), *failures(curve for side in sides for curve in side)),
            refused=found.refused,
        )
        return evidence, found.dims
