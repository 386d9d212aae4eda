"""What MLflow shows of a replicate besides its rows: N* and exponents as bars, and the theory's curve."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bfc_bench.analysis.theory import Theories
from bfc_bench.store.row import Row
from bfc_bench.utils.plain_json import digest

LEVELS = (0.1, 0.01)
"""Levels of NMSE or error rate for N*; the exponent uses the first."""
EXPONENT = ("fit/exponent", "fit/exponent_lo", "fit/exponent_hi")
BARS = (*EXPONENT, *(f"nstar/{level:g}" for level in LEVELS))
THEORY = "theory/nmse"
DIGITS = 6
"""Number of logged digits of a theory; the last ones differ between machines."""
SUMMARY = "bfc.summary"
"""Tag with a hash of the metrics of a summary."""


@dataclass
class ReplicateSummary:
    """N*, exponents and theory of one replicate's curve."""

    metrics: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    """Values by metric and step: at step 0 ``nstar/*`` unless censored and ``fit/*`` unless the fit is refused."""
    ill_behaved: list[str] = field(default_factory=list)
    """For each level above which the curve rises again: the n of the first and last crossing."""

    @property
    def tags(self) -> dict[str, str]:
        """Tags of the run."""
        hashed = digest(sorted((name, *sorted(values.items())) for name, values in self.metrics.items()))
        return {SUMMARY: hashed, "bfc.ill_behaved": "; ".join(self.ill_behaved)}


Summaries = defaultdict[tuple[str, int, str, int], ReplicateSummary]
"""Summaries by task, d, label and replicate."""


def summaries(rows: Sequence[Row], theories: Theories) -> Summaries:
    """The summary of each replicate. ``rows`` has at most one row per (task, d, label, n, replicate)."""
    by_curve: Summaries = defaultdict(ReplicateSummary)
    _add_theories(by_curve, rows, theories)
    _add_bars(by_curve, rows)
    return by_curve


def _add_theories(found: Summaries, rows: Iterable[Row], theories: Theories) -> None:
    for row in rows:
        theory = theories.get((row.task, row.d, row.label))
        if theory and row.status == "ok" and math.isfinite(value := float(f"{theory.nmse(row.n):.{DIGITS}g}")):
            found[row.task, row.d, row.label, row.replicate].metrics[THEORY][row.n] = value


def _add_bars(found: Summaries, rows: Iterable[Row]) -> None:
    from bfc_bench.analysis.curves import by_task, curves, metric_of
    from bfc_bench.analysis.scaling import scalings

    all_curves = [curve for group in by_task(rows).values() for curve in curves(group, metric_of(group))]
    for scaling in scalings(all_curves, LEVELS):
        crossings = [(d, crossing) for d, found_at in scaling.crossings.items() for crossing in found_at]
        for d, crossing in crossings:
            summary = found[scaling.task, d, scaling.label, crossing.replicate]
            if crossing.censored is None:
                summary.metrics[f"nstar/{scaling.level:g}"][0] = float(crossing.n)
            if crossing.last is not None:
                crossed = f"first at {crossing.n:.4g}, last at {crossing.last:.4g}"
                summary.ill_behaved.append(f"{scaling.level:g}: {crossed}")
            if scaling.level == LEVELS[0]:
                exponent = scaling.exponent
                bounds = zip(EXPONENT, (exponent.value, exponent.lo, exponent.hi), strict=True)
                summary.metrics |= {name: {0: float(value)} for name, value in bounds if math.isfinite(value)}
