"""What is drawn as bars: N* of each replicate and the exponent of each (task, label)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from bfc_bench.store.row import Row

LEVELS = (0.1, 0.01)
"""Levels of NMSE, or of error rates of classes, whose N* is shown; the exponent is fitted to the first."""
EXPONENT = ("fit/exponent", "fit/exponent_lo", "fit/exponent_hi")
NAMES = (*EXPONENT, *(f"nstar/{level:g}" for level in LEVELS))

ReplicateKey = tuple[str, int, str, int]
"""task, d, label, replicate"""


@dataclass
class ReplicateSummary:
    """What is known about one replicate's curve beyond its points."""

    metrics: dict[str, float] = field(default_factory=dict)
    """``nstar/*`` where not censored, ``fit/*`` where the fit is not refused."""
    ill_behaved: list[str] = field(default_factory=list)
    """For each level that it rises above again: where it comes down to it first and last."""
    exponent: str = ""
    """The exponent of its (task, label) with its range and tests, or why there is none."""


def fits(rows: Iterable[Row]) -> dict[ReplicateKey, ReplicateSummary]:
    """N* of each replicate and the exponent of each (task, label), by replicate.

    ``rows`` holds at most one row per (task, d, label, n, replicate).
    """
    from bfc_bench.analysis.curves import by_task, curves, metric_of
    from bfc_bench.analysis.scaling import scalings

    found: dict[ReplicateKey, ReplicateSummary] = defaultdict(ReplicateSummary)
    drawn = [curve for group in by_task(rows).values() for curve in curves(group, metric_of(group))]
    for scaling in scalings(drawn, LEVELS):
        for d, crossings in scaling.crossings.items():
            for crossing in crossings:
                fit = found[scaling.task, d, scaling.label, crossing.replicate]
                if crossing.censored is None:
                    fit.metrics[f"nstar/{scaling.level:g}"] = float(crossing.n)
                if crossing.last is not None:
                    fit.ill_behaved.append(f"{scaling.level:g}: first at {crossing.n:.4g}, last at {crossing.last:.4g}")
                if scaling.level == LEVELS[0]:
                    exponent = scaling.exponent
                    bounds = zip(EXPONENT, (exponent.value, exponent.lo, exponent.hi), strict=True)
                    fit.metrics |= {name: float(value) for name, value in bounds if math.isfinite(value)}
                    fit.exponent = str(exponent)
    return dict(found)
