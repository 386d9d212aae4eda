"""How N* grows with d or along another axis: thresholds by value, and the exponent that is fitted to them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import Exponent, fit_exponent
from bfc_bench.analysis.thresholds import NStar, NStars, thresholds
from bfc_bench.suite.axes import is_numeric, value_key

T = TypeVar("T")


@dataclass(frozen=True)
class Scaling:
    """N*(level) of one learner on one task at each d, or along another axis at one d.

    Along the axis of a grid, ``task`` and ``label`` are names of members without their value on this axis, such as
    ``rhm:L3``, and its values stand for the dimensions everywhere.
    """

    task: str
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    level: float
    thresholds: Mapping[Any, NStars]
    """N* by d, ascending; without replicates if none has a value."""
    axis: str = "d"
    """What N* grows with: d, or an axis of a grid."""
    d: int | None = None
    """Input dimension, if that is not the axis."""

    @property
    def crossings(self) -> dict[Any, tuple[NStar, ...]]:
        """N* of the replicates, by d."""
        return {d: n_stars.replicates for d, n_stars in self.thresholds.items()}

    @property
    def measured_dims(self) -> tuple[Any, ...]:
        """Dimensions at which some replicate has a value; ``exponent.dims`` are those at which some N* is known."""
        return tuple(d for d, n_stars in self.thresholds.items() if n_stars.replicates)

    @cached_property
    def exponent(self) -> Exponent:
        """The exponent of N* in d; refused, with a reason, if there is none."""
        return fit_exponent(self.crossings, self.axis)

    def as_dict(self) -> dict[str, Any]:
        """The exponent as a flat record; missing numbers are nan. Along another axis than d, it has ``axis`` and d."""
        fit = self.exponent
        first, last = (fit.dims[0], fit.dims[-1]) if fit.dims else (None, None)
        along = {} if self.axis == "d" else {"axis": self.axis, "d": self.d}
        shared = {"label": self.label, "metric": self.metric, "level": self.level}
        exponent = {"exponent": fit.value, "lo": fit.lo, "hi": fit.hi}
        fitted = {f"{self.axis}_first": first, f"{self.axis}_last": last}
        counts = {"values": fit.uncensored, "bounds": fit.censored}
        tests = {name: getattr(fit, name) for name in ("curvature_p", "detectable", "lack_of_fit_p", "method")}
        notes = {"note": fit.refused or fit.note}
        return {"task": self.task} | along | shared | exponent | fitted | counts | tests | notes


def scalings(curves: Iterable[Curve], levels: Sequence[float], axis: str = "d") -> list[Scaling]:
    """One scaling per (task, label, metric, level), in the order of the curves and then of the levels."""
    groups: dict[tuple[str, str, str, float, int | None], dict[Any, NStars]] = defaultdict(dict)
    for curve in curves:
        value = curve.d if axis == "d" else curve.axes.get(axis)
        if value is None:
            continue
        task, d, label = curve.family(axis)
        for n_stars in thresholds([curve], levels):
            groups[task, label, curve.metric, n_stars.level, d][on_axis(value)] = n_stars
    return [
        Scaling(task, label, metric, level, ascending(by_value), axis, d)
        for (task, label, metric, level, d), by_value in groups.items()
    ]


def on_axis(value: Any) -> Any:
    """A value as a position on an axis: a number as it is, anything else as text."""
    return value if is_numeric(value) else value_key(value)


def ascending(by_value: Mapping[Any, T]) -> dict[Any, T]:
    """A mapping by ascending numbers; positions that are text keep their order, after them."""
    numbers = sorted(value for value in by_value if not isinstance(value, str))
    return {value: by_value[value] for value in (*numbers, *(v for v in by_value if isinstance(v, str)))}
