"""``succeeds``: the share of replicates that get down to a level, for theorems that hold with a probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from bfc_bench.analysis.claims.base import PointClaim, Positive
from bfc_bench.analysis.claims.measures import Measured, measure
from bfc_bench.analysis.claims.replicates_to_decide import trials_to_decide
from bfc_bench.analysis.claims.verdict import Region, Verdict, Word, short
from bfc_bench.analysis.intervals import clopper_pearson
from bfc_bench.store.row import Row


class Succeeds(PointClaim):
    """The probability that the metric is at most ``level``, at (task, d, n), is at least ``share``.

    From the count of replicates, by the interval of Clopper and Pearson (1934), which covers at least its 95 % whatever
    the errors look like. A replicate that failed is one that did not succeed; skipped ones are missing.
    """

    kind: ClassVar[str] = "succeeds"
    label: str
    """A learner's label, or `LABEL/STAGE` for an intermediate predictor of it."""
    level: Positive
    """Of the metric, at or below which a replicate succeeds."""
    share: Annotated[float, Field(gt=0, lt=1)]
    """Of replicates, at least."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """The one."""
        return (self.label,)

    def judge(self, rows: Sequence[Row]) -> Verdict:
        """Supported where the interval lies above ``share``, contradicted where it lies below."""
        from scipy import stats

        at = self.at(rows)
        found = measure(rows, self.label, self.metric, at)
        values = [math.exp(x) if found.scale == "log" else x for x in found.values.values()]
        trials = len(values) + found.failed
        reached = sum(value <= self.level * (1 + 1e-12) for value in values)
        interval, region = clopper_pearson(reached, trials, self.confidence), Region(self.share, 1.0)
        above = 2 * float(stats.binom.sf(reached - 1, trials, self.share)) if trials else math.nan
        below = 2 * float(stats.binom.cdf(reached, trials, self.share)) if trials else math.nan
        verdict: Word = "undecided"
        if region.holds(interval.lo, interval.hi):
            verdict = "supported"
        elif region.excludes(interval.lo, interval.hi):
            verdict = "contradicted"
        return Verdict(
            self.id,
            self.kind,
            self.source,
            f"The {self.quantity} of {self.label} is at most {short(self.level)} with a probability of at least "
            f"{short(self.share)} ({at}).",
            verdict,
            interval.mean,
            interval.lo,
            interval.hi,
            f"≥ {short(self.share)}",
            trials,
            min(1.0, above, below) if trials else math.nan,
            note="; ".join(self._notes(found, reached, trials)),
            worst=max(values, default=math.nan),
            needed=trials_to_decide(reached, trials, self.share, self.confidence).needed,
        )

    def _notes(self, found: Measured, reached: int, trials: int) -> list[str]:
        notes = [f"{reached} of {trials} replicates"] * bool(trials)
        needed = math.ceil(math.log((1 - self.confidence) / 2) / math.log(self.share))
        if reached == trials < needed:
            notes.append(f"{needed} replicates without a failure are needed to support it")
        return [*notes, *found.notes]
