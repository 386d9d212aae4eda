"""Compares N*(level) of two learners over the replicates that both ran."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bfc_bench.analysis.claims.measures import crossing_ratio, failure_notes
from bfc_bench.analysis.claims.verdict import Region
from bfc_bench.analysis.compare import ALPHA, NO_DIFFERENCE
from bfc_bench.analysis.curves import Curve, by_task, curves_of, metric_of
from bfc_bench.analysis.thresholds import Threshold, crossings
from bfc_bench.store.row import Row


@dataclass(frozen=True, slots=True)
class ThresholdComparison:
    """N*(level) of learners a and b on one task at one d, as the geometric mean of N*_a / N*_b over replicates."""

    task: str
    d: int
    metric: str
    level: float
    a: str
    """``LABEL`` or ``LABEL/STAGE``."""
    b: str
    of_a: Threshold
    of_b: Threshold
    ratio: float
    """Geometric mean of the ratio; a bound if N* of some replicates lies beyond the tested sizes."""
    lo: float
    """Lower end of the 95 % interval; 0 if it is open."""
    hi: float
    """Upper end of the 95 % interval; inf if it is open."""
    replicates: int
    p: float
    """Two-sided p of the hypothesis that the ratio is 1; nan without a test."""
    verdict: str
    """``NAME needs fewer`` if p is at most .05, else ``no difference shown``."""
    note: str = ""
    """Why there is no test, or what readers should know of it."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record; ``a_n_star`` and ``b_n_star`` are nan if a replicate is censored."""
        names = ("task", "d", "metric", "level", "a", "b", "ratio", "lo", "hi", "replicates", "p", "verdict", "note")
        sizes = {
            f"{side}_{name}": value
            for side, of in (("a", self.of_a), ("b", self.of_b))
            for name, value in zip(
                ("n_star", "lo", "hi", "bound"), (of.interval.mean, *of.bounds, of.bound), strict=True
            )
        }
        return {name: getattr(self, name) for name in names} | sizes


def compare_thresholds(
    rows: Iterable[Row], a: str, b: str, levels: Sequence[float], metric: str = "nmse"
) -> list[ThresholdComparison]:
    """Compare N* of two predictors at every task and d that both have."""
    comparisons = []
    for task, group in by_task(rows).items():
        used = metric_of(group, metric)
        of_a, of_b = ({curve.d: curve for curve in curves_of(group, name, task, used)} for name in (a, b))
        comparisons += [
            compare_curves(of_a[d], of_b[d], level) for d in sorted(of_a.keys() & of_b.keys()) for level in levels
        ]
    return comparisons


def compare_curves(a: Curve, b: Curve, level: float) -> ThresholdComparison:
    """Compare N* of two learning curves on one task at one d."""
    of_a, of_b = crossings(a, level), crossings(b, level)
    failed = (bool(a.failures.any()), bool(b.failures.any()))
    found = crossing_ratio(of_a, of_b, failure_notes([a, b]), failed)
    p_a, p_b = found.p_outside(Region(lo=0)), found.p_outside(Region(hi=0))
    p = math.nan if found.refused else min(p_a, p_b)
    lo, hi = (math.nan, math.nan) if found.refused else map(math.exp, found.bounds())
    return ThresholdComparison(
        task=a.task,
        d=a.d,
        metric=a.metric,
        level=level,
        a=a.name,
        b=b.name,
        of_a=Threshold(level, tuple(of_a)),
        of_b=Threshold(level, tuple(of_b)),
        ratio=math.exp(found.mean),
        lo=lo,
        hi=hi,
        replicates=found.count,
        p=p,
        verdict=f"{a.name if p_a < p_b else b.name} needs fewer" if p <= ALPHA else NO_DIFFERENCE,
        note=found.refused or "; ".join(found.notes),
    )
