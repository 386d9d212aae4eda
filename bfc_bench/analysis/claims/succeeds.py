"""Claim kind ``succeeds``: the share of replicates that reach a level, for theorems that hold with a probability."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bfc_bench.analysis.claims.base import LabelClaim, Positive
from bfc_bench.analysis.claims.mean_evidence import Region, short
from bfc_bench.analysis.claims.measures import measure
from bfc_bench.analysis.claims.verdict import Finding
from bfc_bench.analysis.intervals import CONFIDENCE, clopper_pearson
from bfc_bench.store.row import Row

MAX_TRIALS = 10**5
"""A share that would need more trials counts as lying on the bound."""


class Succeeds(LabelClaim):
    """The probability that the metric is at most ``level``, at (task, d, n), is at least ``share``.

    The interval is that of Clopper and Pearson (1934) for the count of replicates. It covers at least 95 % for any
    distribution of errors. A failed replicate counts as one that did not succeed; a skipped one is missing.
    """

    kind: ClassVar[str] = "succeeds"
    level: Positive
    """A replicate succeeds if its metric is at most this."""
    share: Annotated[float, Field(gt=0, lt=1)]
    """Lower bound on the probability of success."""

    def judge(self, rows: Sequence[Row]) -> Finding:
        """Supported if the interval lies above ``share``, contradicted if it lies below."""
        from scipy import stats

        at = self.at(rows)
        measured = measure(rows, self.label, self.metric, at)
        values = measured.curve.values
        trials = len(values) + measured.failed
        reached = int((values <= self.level * (1 + 1e-12)).sum())
        interval, region = clopper_pearson(reached, trials, self.confidence), Region(self.share, 1.0)
        tails = stats.binom.sf(reached - 1, trials, self.share), stats.binom.cdf(reached, trials, self.share)
        notes = [f"{reached} of {trials} replicates"] * bool(trials)
        without_failure = math.ceil(math.log((1 - self.confidence) / 2) / math.log(self.share))
        if reached == trials < without_failure:
            notes.append(f"{without_failure} replicates without a failure are needed to support it")
        statement = (
            f"The {self.quantity} of {self.label} is at most {short(self.level)} with a probability of at least "
            f"{short(self.share)} ({at})."
        )
        return Finding(
            statement, region.word(interval.lo, interval.hi), interval.mean, interval.lo, interval.hi,
            f"≥ {short(self.share)}", trials, min(1.0, 2 * float(min(tails))) if trials else math.nan,
            note="; ".join([*notes, *measured.notes]),
            needed=trials_to_decide(reached, trials, self.share, self.confidence),
        )  # fmt: skip


def trials_to_decide(reached: int, trials: int, share: float, confidence: float = CONFIDENCE) -> float:
    """The smallest number of trials at which the Clopper-Pearson interval of the observed share decides."""
    from scipy import special, stats

    if not trials:
        return math.nan
    observed, tail = reached / trials, (1 - confidence) / 2
    distance = abs(observed - share)
    about = share * (1 - share) * (special.ndtri(tail) / distance) ** 2 if distance else math.inf
    if about > MAX_TRIALS:
        return math.inf
    first = 1 if about < 1000 else int(about / 2)
    while True:
        counts = np.arange(first, 2 * first)
        low, high = np.floor(counts * observed + 1e-9), np.ceil(counts * observed - 1e-9)
        decided = (stats.binom.sf(low - 1, counts, share) <= tail) | (stats.binom.cdf(high, counts, share) <= tail)
        if decided.any():
            return float(counts[np.argmax(decided)])
        first *= 2
