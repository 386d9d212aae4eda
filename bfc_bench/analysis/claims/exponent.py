"""Claim kind ``exponent``: how N*(level) grows with d or along an axis, compared with bounds or other learners."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import model_validator

from bfc_bench.analysis.claims.axes import AlongAxis
from bfc_bench.analysis.claims.base import (
    Bounded,
    Finite,
    Label,
    Labels,
    MetricName,
    NStarClaim,
    Positive,
    TaskName,
    in_words,
    that_of,
)
from bfc_bench.analysis.claims.mean_evidence import Evidence, Region, nothing, short
from bfc_bench.analysis.claims.measures import Point, failure_notes, ill_behaved_note
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.compute import IN_WORDS, CostName, cost_curves
from bfc_bench.analysis.curves import Curve, curves_of
from bfc_bench.analysis.exponents import Exponent, compare_exponents, fit_exponent
from bfc_bench.analysis.intervals import t_quantile
from bfc_bench.analysis.theory import expected_n_star, no_theory, slope
from bfc_bench.analysis.thresholds import crossings
from bfc_bench.store.row import Row
from bfc_bench.suite.model import Size
from bfc_bench.utils.legendre import harmonics_dimension

SCATTERED = 0.05
"""Lack-of-fit p below which the scatter between dimensions limits the interval, and more replicates do not help."""


class ExponentClaim(Bounded, NStarClaim, AlongAxis):
    """The exponent s of N*(level) ~ d^s is within bounds, below that of other learners, or near an expected exponent.

    s is a slope over the d of the task, or over the values of ``axis``. The expected exponent is that of the learner's
    own ``theory``, or of the number of spherical harmonics of degree ``harmonics``. For other learners, the exponent of
    the ratio of N* is judged, replicate by replicate.
    """

    kind: ClassVar[str] = "exponent"
    needs_bound: ClassVar[bool] = False
    label: Label
    """A learner's label, or `LABEL/STAGE` for one of its intermediate predictors."""
    task: TaskName
    """Name of a task that is measured at two d or more. With ``axis``, a grid or a list of its members."""
    axis: str = "d"
    """What N* grows with: d, or an axis of a grid of tasks or learners."""
    d: Size | None = None
    """Input dimension, if the axis is not d; the largest of each task by default."""
    level: Positive = 0.1
    """Error level that defines N*(level)."""
    metric: MetricName = "nmse"
    """The error that must reach the level."""
    cost: CostName | None = None
    """Judges the least cost of reaching the level instead of N*: `fit_flops`, `fit_cpu_seconds` or `parameters`."""
    harmonics: Size | None = None
    """Degree p: s is within ``tolerance`` of the slope of log B(d, p) over the fitted d."""
    theory: bool = False
    """Whether s is within ``tolerance`` of the slope of the theory's log N*(level) over the fitted d."""
    tolerance: Positive | None = None
    """Allowed distance from the expected exponent; required by ``harmonics`` and ``theory``."""
    asymptotic: Finite | None = None
    """The exponent that the theorem gives as d grows; the report states it, and it is not judged."""
    below: Labels | None = None
    """Labels of the others, which have larger exponents."""

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
        if (self.axis == "d") != (self.sweep is None):
            raise ValueError(f"sweep goes with an axis other than d. Got axis = {self.axis!r}")
        if self.axis == "d" and self.d is not None:
            raise ValueError(f"d does not go with axis = 'd', because all d of the task are used. Got d = {self.d}")
        if self.axis != "d" and self.harmonics is not None:
            raise ValueError(f"harmonics expects an exponent in d. Got axis = {self.axis!r}")
        if self.cost is not None and (self.theory or self.harmonics is not None):
            raise ValueError(f"theory and harmonics are about N*, not about a cost. Got cost = {self.cost!r}")
        if self.below and self.label in self.below:
            raise ValueError(f"below must not name the label itself. Got {self.label!r}")
        return self

    def points(self, rows: Sequence[Row]) -> list[Point]:
        """All sizes of the task, or of those along the axis at one d."""
        if self.sweep is None:
            return super().points(rows)
        return [self.located(rows, task, self.d) for task in self.tasks]

    def judge(self, rows: Sequence[Row]) -> Finding:
        """From the censored regression of log N*, or of the log ratio of N*, on log d."""
        curves = {name: self._curves(rows, name) for name in (self.label, *(self.below or ()))}
        ours = curves[self.label]
        fixed = dict.fromkeys(point.d for point in self.points(rows) if point.d) if self.sweep else {}
        where = ", ".join([self.task, *(f"d = {d}" for d in fixed)])
        needed = "N*" if self.cost is None else IN_WORDS[self.cost]
        error = f"{in_words(self.metric)} ≤ {short(self.level)}"
        quantity = f"The exponent in {self.axis} of the {needed} of {self.label} for {error}"
        limit = "" if self.asymptotic is None else f", asymptotically {short(self.asymptotic)}"
        if self.below is None:
            measured = list(ours)
            expected = self._expected(ours)
            evidence, dims = self._evidence(ours, expected=expected)
            region, bound = self._allowed(dims if len(dims) > 1 else measured, expected)
            if ours and self.theory and region == Region():
                without = [key for key in map(_key, ours.values()) if self._theories.get(key) is None]
                unreached = f"the theory of {self.label} does not reach the level at every {self.axis}"
                evidence = nothing(no_theory(self._theories, *without[0]) if without else unreached)
            return self.verdict(f"{quantity} is {bound}{limit} ({where}).", region, evidence, log=False)
        pieces = {name: self._evidence(ours, curves[name])[0] for name in self.below}
        statement = f"{quantity} is below {that_of(self.below)}{limit} ({where})."
        return self.verdict(statement, Region(hi=0.0), pieces, log=False)

    def _curves(self, rows: Sequence[Row], name: str) -> dict[Any, Curve]:
        """The curves of a predictor by d, or by value along the axis."""
        if self.sweep is None:
            return {curve.d: curve for curve in self._curves_on(rows, name, self.task)}
        dims = {point.task: point.d for point in self.points(rows)}
        return {
            int(point.value) if point.value.is_integer() else point.value: curve
            for point in self.sweep
            for curve in self._curves_on(rows, point.label(name), point.task, dims[point.task])
        }

    def _curves_on(self, rows: Sequence[Row], name: str, task: str, d: int | None = None) -> list[Curve]:
        """The curves of a predictor on a task, with the cost in the place of n if the claim is about one."""
        curves = curves_of(rows, name, task, self.metric, d)
        if self.cost is None:
            return curves
        return [of.by_cost for of in cost_curves(rows, curves, self.cost) if of.by_cost is not None]

    def _expected(self, curves: Mapping[Any, Curve]) -> dict[Any, float]:
        """Expected sizes by d, or by value along the axis: the theory's N*, or B(d, p)."""
        if self.harmonics is not None:
            return {d: harmonics_dimension(d, self.harmonics) for d in curves}
        if not self.theory:
            return {}
        by_value = {value: self._theories.get(_key(curve)) for value, curve in curves.items()}
        return {value: expected_n_star(theory, self.level) for value, theory in by_value.items() if theory}

    @property
    def _expected_names(self) -> tuple[str, str]:
        """In words, where the expected sizes come from, and what they are."""
        return ("its theory", "the N* of its theory") if self.harmonics is None else (f"B(d, {self.harmonics})",) * 2

    def _allowed(self, dims: Sequence[Any], expected: Mapping[Any, float]) -> tuple[Region, str]:
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
        return region, f"{words}, {expected_slope:.3g} over {self.axis} = {dims[0]}..{dims[-1]}"

    def _evidence(
        self,
        ours: Mapping[Any, Curve],
        others: Mapping[Any, Curve] | None = None,
        expected: Mapping[Any, float] | None = None,
    ) -> tuple[Evidence, tuple[float, ...]]:
        """Evidence about our exponent, or about ours minus that of the others, and the fitted dimensions.

        The bend of ``expected`` in log d does not count as lack of fit.
        """
        sides = [ours] if others is None else [others, ours]
        if not all(sides):
            return nothing(f"no {self.metric} on {self.task}, so no N*"), ()
        *theirs, mine = ({d: crossings(curve, self.level) for d, curve in side.items()} for side in sides)
        axis = self.axis
        fit = compare_exponents(theirs[0], mine, axis) if theirs else fit_exponent(mine, axis, expected)
        notes = [f"values: {fit.uncensored}, bounds: {fit.censored}"]
        if not fit.refused:
            notes += [f"{axis} = {fit.dims[0]}..{fit.dims[-1]}", *[fit.note] * bool(fit.note)]
        notes += [fit.curvature] * bool(fit.curvature)
        notes += ill_behaved_note(*(at_d for side in (*theirs, mine) for at_d in side.values()))
        notes += failure_notes(curve for side in sides for curve in side.values())
        fixed = ""
        if _by_means(fit) and fit.lack_of_fit_p < SCATTERED:
            law = f"a power of {axis} times {self._expected_names[1]}" if expected else f"one power of {axis}"
            dimensions, more = ("dimensions", "d") if axis == "d" else (f"values of {axis}", f"values of {axis}")
            fixed = (
                f"the {dimensions} do not lie on {law} (lack of fit p = {fit.lack_of_fit_p:.2g}): more {more} would "
                "narrow the interval, more replicates might not"
            )
        return OfExponent((), fit.replicates, notes=tuple(notes), refused=fit.refused, fixed=fixed, fit=fit), fit.dims


@dataclass(frozen=True, kw_only=True)
class OfExponent(Evidence):
    """Evidence about an exponent, which is fitted to all replicates: these have no values of their own."""

    fit: Exponent

    @property
    def mean(self) -> float:
        """The exponent."""
        return self.fit.value

    @property
    def errors(self) -> tuple[float, float]:
        """Standard errors for the lower and the upper end of the interval."""
        fit, scale = self.fit, math.sqrt(self.fit.replicates / max(self.count, 1)) / t_quantile(self.fit.degrees)
        return (fit.value - fit.lo) * scale, (fit.hi - fit.value) * scale

    @property
    def degrees(self) -> float:
        """Degrees of freedom of Student's t, which grow with the number of values."""
        fit = self.fit
        return fit.degrees if _by_means(fit) else (fit.degrees + 2) * self.count / max(fit.replicates, 1) - 2


def _by_means(fit: Exponent) -> bool:
    """Whether the interval comes from one mean for each dimension. More replicates then do not add values."""
    return fit.degrees == len(fit.dims) - 2


def _key(curve: Curve) -> tuple[str, int, str]:
    """Task, d and label of a curve, by which theories are known."""
    return curve.task, curve.d, curve.label
