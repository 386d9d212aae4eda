"""How N* grows with the dimension: thresholds by d, and the exponent that is fitted to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.exponents import Exponent, compare_exponents, fit_exponent, fit_exponent_relative_to
from bfc_bench.analysis.thresholds import Crossing, Reached, Threshold, thresholds


@dataclass(frozen=True)
class Scaling:
    """N*(level) of one learner on one task at each d."""

    task: str
    label: str
    """``LABEL``, or ``LABEL/STAGE`` for an intermediate predictor."""
    metric: str
    level: float
    thresholds: Mapping[int, Threshold]
    """Thresholds by d, ascending; without crossings if no replicate has a value."""

    @property
    def reached(self) -> list[Reached]:
        """The thresholds as records."""
        return [Reached(self.task, d, self.label, self.metric, self.level, t) for d, t in self.thresholds.items()]

    @property
    def crossings(self) -> dict[int, tuple[Crossing, ...]]:
        """Crossings of the replicates, by d."""
        return {d: threshold.crossings for d, threshold in self.thresholds.items()}

    @property
    def measured_dims(self) -> tuple[int, ...]:
        """Dimensions at which some replicate has a value; ``exponent.dims`` are those at which some N* is known."""
        return tuple(d for d, threshold in self.thresholds.items() if threshold.crossings)

    @cached_property
    def exponent(self) -> Exponent:
        """The exponent of N* in d; refused, with a reason, if there is none."""
        return fit_exponent(self.crossings)

    def exponent_relative_to(self, expected: Mapping[int, float]) -> Exponent:
        """The exponent of N* in d, fitted relative to the ``expected`` sizes by d (``fit_exponent_relative_to``)."""
        return fit_exponent_relative_to(self.crossings, expected)

    def exponent_minus(self, other: Scaling) -> Exponent:
        """This exponent minus that of ``other``, fitted to the ratio of N* replicate by replicate."""
        return compare_exponents(other.crossings, self.crossings)

    def as_dict(self) -> dict[str, Any]:
        """The exponent as a flat record; missing numbers are nan."""
        fit = self.exponent
        first, last = fit.range or (None, None)
        return {
            "task": self.task,
            "label": self.label,
            "metric": self.metric,
            "level": self.level,
            "exponent": fit.value,
            "lo": fit.lo,
            "hi": fit.hi,
            "d_first": first,
            "d_last": last,
            "values": fit.uncensored,
            "bounds": fit.censored,
            "curvature_p": fit.curvature_p,
            "detectable": fit.detectable,
            "lack_of_fit_p": fit.lack_of_fit_p,
            "method": fit.method,
            "note": fit.refused or fit.note,
        }


def scalings(curves: Iterable[Curve], levels: Sequence[float]) -> list[Scaling]:
    """One scaling per (task, label, metric, level), in the order of the curves and then of the levels."""
    groups: dict[tuple[str, str, str, float], dict[int, Threshold]] = defaultdict(dict)
    for reached in thresholds(curves, levels):
        groups[reached.task, reached.label, reached.metric, reached.level][reached.d] = reached.threshold
    return [Scaling(*key, dict(sorted(by_d.items()))) for key, by_d in groups.items()]
