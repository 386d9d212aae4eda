"""Compares learners over the replicates that both ran: their errors at each n by paired tests, or their N*."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby
from typing import Any, TypeVar

import numpy as np

from bfc_bench.analysis.claims.mean_evidence import Evidence, Region, evidence
from bfc_bench.analysis.claims.measures import n_star_ratio, paired_differences, with_values
from bfc_bench.analysis.curves import Curve, by_task, curves_of, metric_of
from bfc_bench.analysis.intervals import exp, holm
from bfc_bench.analysis.thresholds import NStars, threshold
from bfc_bench.errors import UsageError, suggest
from bfc_bench.store.export import FlatRecord
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows

ALPHA = 0.05
NO_DIFFERENCE = "no difference shown"
C = TypeVar("C", "Comparison", "ThresholdComparison")


@dataclass(frozen=True, slots=True)
class Comparison(FlatRecord):
    """Comparison of learners a and b at one n, on the same replicates.

    It is about the ratio a / b, or about the difference a - b if the metric may be negative.
    """

    task: str
    d: int
    metric: str
    a: str
    """``LABEL`` or ``LABEL/STAGE``."""
    b: str
    n: int
    pairs: int
    """Replicates in which both have a value."""
    unpaired: int
    """Replicates in which only one has a value, because the other failed or did not run."""
    ratio: float
    """Geometric mean of a / b, for error rates on data the ratio of their means; nan if the difference is compared."""
    difference: float
    """Arithmetic mean of a - b; nan if the ratio is compared."""
    lo: float
    """Lower end of the 95 % interval of the ratio or difference."""
    hi: float
    """Upper end of the interval."""
    p: float
    """p of the paired t-test of log(a / b) = 0, or of a - b = 0."""
    holm_p: float
    """``p`` adjusted for all d and n that are compared on this task (Holm)."""
    verdict: str
    """``NAME lower`` if ``holm_p`` is at most .05, else ``no difference shown``."""
    refused: str = ""
    """Why there is no test; empty if there is one."""


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
    of_a: NStars
    of_b: NStars
    ratio: float
    """Geometric mean of the ratio; a bound if N* of some replicates lies beyond the tested sizes."""
    lo: float
    """Lower end of the 95 % interval; 0 if it is open."""
    hi: float
    """Upper end of the 95 % interval; inf if it is open."""
    replicates: int
    p: float
    """Two-sided p of the hypothesis that the ratio is 1; nan without a test."""
    holm_p: float
    """``p`` adjusted for all d, levels and learners that are compared on this task (Holm)."""
    verdict: str
    """``NAME needs fewer`` if ``holm_p`` is at most .05, else ``no difference shown``."""
    note: str = ""
    """Why there is no test, or what readers should know of it."""

    def as_dict(self) -> dict[str, Any]:
        """A flat record, with N* of both as in ``NStars.as_dict``."""
        names = ("task", "d", "metric", "level", "a", "b", "ratio", "lo", "hi", "replicates", "p", "holm_p")
        record = {name: getattr(self, name) for name in (*names, "verdict", "note")}
        for side, of in (("a", self.of_a), ("b", self.of_b)):
            record |= {f"{side}_{name}": value for name, value in of.sizes("n_star").items()}
        return record


def pairs_of(rows: Iterable[Row], names: Sequence[str], metric: str = "nmse") -> Iterator[tuple[Curve, Curve]]:
    """The curves of each two of the predictors at every task and d that both have."""
    for task, group in by_task(rows).items():
        used = metric_of(group, metric)
        by_d = [{curve.d: curve for curve in curves_of(group, name, task, used)} for name in names]
        for a, b in combinations(by_d, 2):
            yield from ((a[d], b[d]) for d in sorted(a.keys() & b.keys()))


def require_known(rows: Iterable[Row], where: str, field: str, wanted: Iterable[object]) -> None:
    """Raise ``UsageError`` with the nearest known value for a value that no row has."""
    rows = Rows.of(rows)
    values = set(map(str, rows.d.tolist())) if field == "d" else {str(value) for value in rows.distinct(field)}
    for value in wanted:
        if (name := str(value).partition("/")[0] if field == "label" else str(value)) not in values:
            raise UsageError(f"{where}: the results have no {field} {name!r}.{suggest(name, values)}")


def compare(pairs: Iterable[tuple[Curve, Curve]]) -> list[Comparison]:
    """Compare pairs of learning curves, each on one task at one d, at every shared n that both have."""
    return _decided([_compare_at(int(n), a, b) for a, b in pairs for n in np.intersect1d(a.n[a.shared], b.n[b.shared])])


def compare_thresholds(pairs: Iterable[tuple[Curve, Curve]], levels: Collection[float]) -> list[ThresholdComparison]:
    """Compare N* of pairs of learning curves, each on one task at one d."""
    return _decided([_compare_n_star(*pair, level) for pair in pairs for level in levels])


def _decided(comparisons: Sequence[C]) -> list[C]:
    """Comparisons with p adjusted for all of the same task (Holm), by which alone they are decided."""
    by_task = (list(of_task) for _, of_task in groupby(comparisons, lambda comparison: comparison.task))
    return [
        replace(comparison, holm_p=p, verdict=comparison.verdict if p <= ALPHA else NO_DIFFERENCE)
        for of_task in by_task
        for comparison, p in zip(of_task, holm([each.p for each in of_task]), strict=True)
    ]


def _compare_at(n: int, a: Curve, b: Curve) -> Comparison:
    of_a, of_b = (with_values(curve.at(curve.n == n)) for curve in (a, b))
    log_ratio = evidence(paired_differences(of_a, of_b), overlap=a.overlap).of_symmetric_values()
    mean, lo, hi = (exp(x) if a.scale == "log" else x for x in (log_ratio.mean, *_ends(log_ratio)))
    return Comparison(
        **_in_common(a, b, log_ratio),
        n=n,
        pairs=log_ratio.count,
        unpaired=len({*of_a.replicates} ^ {*of_b.replicates}),
        ratio=mean if a.scale == "log" else math.nan,
        difference=mean if a.scale == "linear" else math.nan,
        lo=lo,
        hi=hi,
        verdict=f"{a.name if log_ratio.mean < 0 else b.name} lower",
        refused=log_ratio.refused,
    )


def _in_common(a: Curve, b: Curve, found: Evidence) -> dict[str, Any]:
    """The fields that both kinds of comparison have, before p is adjusted."""
    p = math.nan if found.refused else found.p_outside(Region(0.0, 0.0))
    return {"task": a.task, "d": a.d, "metric": a.metric, "a": a.name, "b": b.name, "p": p, "holm_p": math.nan}


def _ends(found: Evidence) -> tuple[float, float]:
    """The ends of the interval; nan if there is no test."""
    return (math.nan, math.nan) if found.refused else found.bounds()


def _compare_n_star(a: Curve, b: Curve, level: float) -> ThresholdComparison:
    log_ratio = n_star_ratio(a, b, level).of_symmetric_values()
    lo, hi = map(exp, _ends(log_ratio))
    return ThresholdComparison(
        **_in_common(a, b, log_ratio),
        level=level,
        of_a=threshold(a, level),
        of_b=threshold(b, level),
        ratio=exp(log_ratio.mean),
        lo=lo,
        hi=hi,
        replicates=log_ratio.count,
        verdict=f"{a.name if log_ratio.mean < 0 else b.name} needs fewer",
        note=log_ratio.refused or "; ".join(log_ratio.notes),
    )
