"""Compares two learners at each n by paired tests over the replicates that both ran."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bfc_bench.analysis.curves import Curve, by_task, curves_of, metric_of
from bfc_bench.analysis.intervals import t_interval, two_sided_p
from bfc_bench.errors import UsageError, suggest
from bfc_bench.seeds import stream
from bfc_bench.store.row import Row
from bfc_bench.store.rows import Rows

ALPHA = 0.05
MIN_PAIRS = 3
MIN_SIGN_FLIP = 6
"""With fewer pairs the sign-flip test cannot reach p = .05."""

EXACT_SIGN_FLIP = 14
"""Up to this R all 2^R sign patterns are counted; for more, 2^14 of them are drawn."""

NO_DIFFERENCE = "no difference shown"


@dataclass(frozen=True, slots=True)
class Comparison:
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
    """Geometric mean of a / b; nan if the difference is compared."""
    difference: float
    """Arithmetic mean of a - b; nan if the ratio is compared."""
    lo: float
    """Lower end of the 95 % interval of the ratio or difference."""
    hi: float
    """Upper end of the interval."""
    p: float
    """p of the paired t-test of log(a / b) = 0, or of a - b = 0."""
    sign_flip_p: float
    """p of the sign-flip test; nan below 6 pairs, where it cannot reach .05."""
    holm_p: float
    """``p`` adjusted for all sizes of this comparison (Holm)."""
    verdict: str
    """``NAME lower`` if p is at most .05, else ``no difference shown``."""
    refused: str = ""
    """Why there is no test; empty if there is one."""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as a flat record; missing numbers are nan."""
        return asdict(self)


def compare_labels(rows: Iterable[Row], a: str, b: str, metric: str = "nmse") -> list[Comparison]:
    """Compare two predictors at every task, d and n that both have.

    Holm's adjustment is over the n of one task and d.
    """
    comparisons = []
    for task, group in by_task(rows).items():
        used = metric_of(group, metric)
        of_a, of_b = ({curve.d: curve for curve in curves_of(group, name, task, used)} for name in (a, b))
        for d in sorted(of_a.keys() & of_b.keys()):
            comparisons += compare(of_a[d], of_b[d])
    return comparisons


def require_known(rows: Iterable[Row], where: str, field: str, wanted: Iterable[object]) -> None:
    """Raise ``UsageError`` with the nearest known value for a value that no row has."""
    rows = Rows.of(rows)
    known = set(map(str, rows.d.tolist())) if field == "d" else {str(value) for value in rows.distinct(field)}
    for value in wanted:
        if (name := str(value).partition("/")[0] if field == "label" else str(value)) not in known:
            raise UsageError(f"{where}: the results have no {field} {name!r}.{suggest(name, known)}")


def compare(a: Curve, b: Curve) -> list[Comparison]:
    """Compare two curves at every n that both have.

    The verdict uses the unadjusted p. Raises ``UsageError`` if task, d or metric of the curves differ.
    """
    if (a.task, a.d, a.metric) != (b.task, b.d, b.metric):
        raise UsageError(
            "compare: both curves must have one task, d and metric. "
            f"Got {(a.task, a.d, a.metric)} for {a.name!r} and {(b.task, b.d, b.metric)} for {b.name!r}."
        )
    replicates = sorted(set(a.replicates) | set(b.replicates))
    comparisons = [_compare_at(int(n), a, b, replicates) for n in np.intersect1d(a.n, b.n)]
    adjusted = holm([comparison.p for comparison in comparisons])
    return [replace(comparison, holm_p=p) for comparison, p in zip(comparisons, adjusted, strict=True)]


def holm(p: Sequence[float]) -> list[float]:
    """p-values adjusted by Holm's method; nan stays nan and does not count as a test."""
    tests = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    adjusted, largest = list(p), 0.0
    for rank, (value, i) in enumerate(tests):
        largest = max(largest, min(1.0, (len(tests) - rank) * value))
        adjusted[i] = largest
    return adjusted


def sign_flip_p(x: np.ndarray) -> float:
    """Two-sided p of the hypothesis that the values x (R,) are symmetric about 0, from random flips of their signs."""
    r = len(x)
    if r <= EXACT_SIGN_FLIP:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=r)))
    else:
        signs = stream("sign-flip test", r).choice((1.0, -1.0), size=(2**EXACT_SIGN_FLIP, r))
        signs[0] = 1.0
    observed = abs(x.sum())
    return float(np.mean(np.abs(signs @ x) >= observed * (1 - 1e-12)))


def _column(curve: Curve, n: int, replicates: Sequence[int]) -> np.ndarray:
    """Values at n as they are averaged, one per replicate; nan if there is none."""
    values = dict(zip(curve.replicates, curve.scaled[:, np.searchsorted(curve.n, n)], strict=True))
    return np.array([values.get(replicate, math.nan) for replicate in replicates])


def _compare_at(n: int, a: Curve, b: Curve, replicates: Sequence[int]) -> Comparison:
    of_a, of_b = _column(a, n, replicates), _column(b, n, replicates)
    unpaired = int(np.sum(np.isnan(of_a) != np.isnan(of_b)))
    differences = of_a - of_b
    differences = differences[~np.isnan(differences)]
    pairs = len(differences)
    interval = t_interval(differences)
    spread = (interval.hi - interval.lo) / 2 if pairs > 1 else math.nan
    refused, p = "", math.nan
    if pairs < MIN_PAIRS:
        refused = f"{pairs} pairs of replicates; at least {MIN_PAIRS} are needed"
    elif spread <= 1e-12 * abs(interval.mean):
        compared = "ratio" if a.scale == "log" else "difference"
        refused = f"zero variance: the {compared} is the same in every replicate"
    else:
        error = float(differences.std(ddof=1)) / math.sqrt(pairs)
        p = two_sided_p(abs(interval.mean) / error, pairs - 1)
    lower = a.name if interval.mean < 0 else b.name
    estimate = interval.exp() if a.scale == "log" else interval
    return Comparison(
        task=a.task,
        d=a.d,
        metric=a.metric,
        a=a.name,
        b=b.name,
        n=n,
        pairs=pairs,
        unpaired=unpaired,
        ratio=estimate.mean if a.scale == "log" else math.nan,
        difference=estimate.mean if a.scale == "linear" else math.nan,
        lo=math.nan if refused else estimate.lo,
        hi=math.nan if refused else estimate.hi,
        p=p,
        sign_flip_p=sign_flip_p(differences) if pairs >= MIN_SIGN_FLIP and not refused else math.nan,
        holm_p=math.nan,
        verdict=f"{lower} lower" if p <= ALPHA else NO_DIFFERENCE,
        refused=refused,
    )
