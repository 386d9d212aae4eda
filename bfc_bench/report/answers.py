"""The first lines of a report: for each task, how many training points each learner needs, and which need the fewest.

One level of error and one d stand for a task: those at which the learner that needs the fewest is shown to be furthest
ahead of the next one, else those at which N* of the most learners is known, then the smaller level and the larger d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TypeAlias

from bfc_bench.analysis.compare import ThresholdComparison, compare_curves
from bfc_bench.analysis.thresholds import NStars
from bfc_bench.report.section import Section
from bfc_bench.report.tables import number, sample_size, with_interval

Comparisons: TypeAlias = Mapping[tuple[float, int], ThresholdComparison]
"""Those of two learners at each level and d, with p for all of them."""
VAGUE = 4.0
"""Width of an exponent's interval from which on it says nothing, and stands in the tables alone."""


@dataclass(frozen=True)
class Need:
    """The training points that one learner needs."""

    label: str
    n_star: str
    """N* with its interval or bound: ``112 [43, 294]``, ``≤50``, ``113 [≤100, 130]``."""
    told: str
    """Facts about the target that the learner was told; empty for none."""
    p: str
    """The p of the test against the learner that needs the fewest; empty if it is not shown to need more."""
    exponent: str
    """The exponent of N* in d with its interval; empty for none."""


@dataclass(frozen=True)
class Answer:
    """What one task needs for one level at one d."""

    section: Section
    anchor: str
    """Id of the task's section in the page."""
    level: float
    d: int
    within: Sequence[NStars]
    """N* of the learners that reach the level at a tested size, the fewest points first."""
    beyond: Sequence[NStars]
    """Those of the learners that do not, in any replicate."""
    between: Callable[[str, str], Comparisons]
    """The comparisons of two labels of the task."""

    @property
    def order(self) -> tuple[float, int, bool, float, int]:
        """The larger, the more this level and d say; if no learner reaches any level, the largest level comes first."""
        exact = sum(map(_is_known, self.within))
        return self.ahead[0], exact, bool(self.within), -self.level if self.within else self.level, self.d

    @cached_property
    def ahead(self) -> tuple[float, float]:
        """Bounds on N* of the next learner over that of the first; 0 and inf if no difference is shown."""
        comparisons = list(map(self._compared, self._next))
        if not comparisons or not all(map(_is_ahead, comparisons)):
            return 0.0, math.inf
        return 1 / max(of.hi for of in comparisons), max(1 / of.lo if of.lo else math.inf for of in comparisons)

    @property
    def _next(self) -> Sequence[NStars]:
        """The next learner after the first, or all others if none of them reaches the level."""
        return self.within[1:2] or self.beyond if self.within else ()

    @property
    def lead(self) -> str:
        """How the first learner compares with the next, ``1.8 to 3.5 times fewer than layerwise``; empty for none."""
        least, most = self.ahead
        who = "every other learner" if len(self._next) > 1 else "".join(reached.label for reached in self._next)
        if not least:
            return f"not shown to be fewer than for {who}" if who else ""
        times = f"at least {number(least)}" if math.isinf(most) else f"{number(least)} to {number(most)}"
        return f"{times} times fewer than {who}"

    @cached_property
    def needs(self) -> list[Need]:
        """What each learner that reaches the level needs."""
        return [self._need(reached) for reached in self.within]

    def _need(self, reached: NStars) -> Need:
        size = " ".join(sample_size(reached)).rstrip()
        comparison = None if reached is self.within[0] else self._compared(reached)
        p = f"p {number(comparison.p)}" if comparison and _is_ahead(comparison) else ""
        facts = self.section.oracle.get(reached.label, "")
        fits = (s.exponent for s in self.section.scalings if (s.label, s.level) == (reached.label, self.level))
        clear_fits = (fit for fit in fits if not fit.refused and fit.hi - fit.lo < VAGUE)
        exponent = next((with_interval(fit.value, fit.lo, fit.hi) for fit in clear_fits), "")
        return Need(reached.label, size, facts, p, exponent)

    def _compared(self, reached: NStars) -> ThresholdComparison:
        return self.between(self.within[0].label, reached.label)[self.level, self.d]


def answers(sections: Sequence[Section]) -> list[Answer]:
    """The answer of each task that has a learning curve."""
    return [
        max(candidates, key=lambda answer: answer.order)
        for place, section in enumerate(sections, start=1)
        if (candidates := _candidates(section, f"task-{place}"))
    ]


def _candidates(section: Section, anchor: str) -> list[Answer]:
    """The answers at each level and d."""
    groups: dict[tuple[float, int], list[NStars]] = {}
    for scaling in section.scalings:
        for reached in scaling.reached:
            if reached.replicates:
                groups.setdefault((reached.level, reached.d), []).append(reached)
    candidates, between = [], cache(partial(_between, section))
    for (level, d), group in groups.items():
        ranked = sorted(group, key=lambda reached: reached.rank)
        within, beyond = ([r for r in ranked if _is_reached(r) == inside] for inside in (True, False))
        candidates.append(Answer(section, anchor, level, d, within, beyond, between))
    return candidates


def _between(section: Section, a: str, b: str) -> Comparisons:
    levels = {scaling.level for scaling in section.scalings}
    of_a, of_b = ({curve.d: curve for curve in section.curves if curve.label == label} for label in (a, b))
    pairs = [(of_a[d], of_b[d]) for d in of_a.keys() & of_b.keys()]
    return {(found.level, found.d): found for found in compare_curves(pairs, levels)}


def _is_ahead(found: ThresholdComparison) -> bool:
    """Whether the first learner of a comparison is shown to need fewer points."""
    return found.verdict == f"{found.a} needs fewer"


def _is_known(reached: NStars) -> bool:
    """Whether N* is a number or a range between tested sizes in each replicate."""
    return not reached.left and not reached.right


def _is_reached(reached: NStars) -> bool:
    """Whether some replicate reaches the level at a tested size."""
    return reached.right < len(reached.replicates)
