"""N* of each replicate and exponents of each (task, label), which MLflow shows as bars."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from bfc_bench.store.row import Row

LEVELS = (0.1, 0.01)
"""Levels of NMSE or error rate for N*; the exponent uses the first."""
EXPONENT = ("fit/exponent", "fit/exponent_lo", "fit/exponent_hi")
NAMES = (*EXPONENT, *(f"nstar/{level:g}" for level in LEVELS))

ReplicateKey = tuple[str, int, str, int]
"""task, d, label, replicate"""


@dataclass
class ReplicateSummary:
    """N* and exponents of one replicate's curve."""

    metrics: dict[str, float] = field(default_factory=dict)
    """``nstar/*`` unless censored, ``fit/*`` unless the fit is refused."""
    ill_behaved: list[str] = field(default_factory=list)
    """For each level above which the curve rises again: the n of the first and last crossing."""
    exponent: str = ""
    """The exponent of its (task, label) with its range and tests, or the reason for its absence."""


def fits(rows: Iterable[Row]) -> dict[ReplicateKey, ReplicateSummary]:
    """N* of each replicate and the exponent of each (task, label), by replicate.

    ``rows`` holds at most one row per (task, d, label, n, replicate).
    """
    from bfc_bench.analysis.curves import by_task, curves, metric_of
    from bfc_bench.analysis.scaling import scalings

    summaries: dict[ReplicateKey, ReplicateSummary] = defaultdict(ReplicateSummary)
    all_curves = [curve for group in by_task(rows).values() for curve in curves(group, metric_of(group))]
    for scaling in scalings(all_curves, LEVELS):
        for d, crossings in scaling.crossings.items():
            for crossing in crossings:
                summary = summaries[scaling.task, d, scaling.label, crossing.replicate]
                if crossing.censored is None:
                    summary.metrics[f"nstar/{scaling.level:g}"] = float(crossing.n)
                if crossing.last is not None:
                    crossed = f"first at {crossing.n:.4g}, last at {crossing.last:.4g}"
                    summary.ill_behaved.append(f"{scaling.level:g}: {crossed}")
                if scaling.level == LEVELS[0]:
                    exponent = scaling.exponent
                    bounds = zip(EXPONENT, (exponent.value, exponent.lo, exponent.hi), strict=True)
                    summary.metrics |= {name: float(value) for name, value in bounds if math.isfinite(value)}
                    summary.exponent = str(exponent)
    return dict(summaries)
