"""The first lines of a report: for each task, how many training points each learner needs, and which need the fewest.

One level of error and one d stand for a task: those at which the learner that needs the fewest is shown to be furthest
ahead of the next one, else those at which N* of the most learners is known, then the smaller level and the larger d.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TypeAlias

from bfc_bench.analysis.compare import ThresholdComparison, compare_thresholds
from bfc_bench.analysis.curves import by_task, curves, metric_of
from bfc_bench.analysis.scaling import scalings
from bfc_bench.analysis.thresholds import NStars
from bfc_bench.report.section import Section
from bfc_bench.report.tables import number, sample_size, with_interval
from bfc_bench.store.rows import Rows

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
        exact = sum(reached.left + reached.right == 0 for reached in self.within)
        return self.ahead, exact, bool(self.within), -self.level if self.within else self.level, self.d

    @cached_property
    def ahead(self) -> float:
        """Lower bound on N* of the next learner over that of the first; 0 if no difference is shown."""
        return self._least_factor(self.within[1:2] or self.beyond) if self.within else 0.0

    @property
    def lead(self) -> str:
        """How the first learner compares with the next one and with those that never reach the level; empty for none.

        ``2.5 times fewer than layerwise, at least 1.5; more than 7.1 times fewer than kernel``.
        """
        others = "every learner that does not reach it" if self.within[1:] else "every other learner"
        groups = (self.within[1:2], self.beyond) if self.within else ()
        return "; ".join(self._against(group, others) for group in groups if group)

    def _against(self, group: Sequence[NStars], others: str) -> str:
        who = others if len(group) > 1 else group[0].label
        if not (least := self._least_factor(group)):
            return f"not shown to be fewer than for {who}"
        found = self._compared(group[0])
        if len(group) > 1 or math.isnan(found.of_a.interval.mean + found.of_b.interval.mean):
            return f"more than {number(least)} times fewer than {who}"
        bounds = f"between {number(least)} and {number(1 / found.lo)}" if found.lo else f"at least {number(least)}"
        return f"{number(1 / found.ratio)} times fewer than {who}, {bounds}"

    def _least_factor(self, group: Sequence[NStars]) -> float:
        """Lower bound on N* of all in a group over that of the first learner; 0 if no difference is shown."""
        found = list(map(self._compared, group))
        return 1 / max(of.hi for of in found) if found and all(map(_is_ahead, found)) else 0.0

    @property
    def sentence(self) -> str:
        """The answer in words: what the first learner needs, and how the others compare."""
        question = f"{self.section.name}, {self.section.metric_name} ≤ {self.level:g}"
        if not self.needs:
            return f"{question}: no learner reaches it at any tested size."
        first = f"{self.needs[0].label} needs {self.needs[0].n_star}"
        return f"{question} at d = {self.d}: {', '.join(filter(None, [first, self.lead]))}."

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


def answers_in_words(rows: Rows, levels: Sequence[float]) -> list[str]:
    """A sentence for each task that has a learning curve."""
    sections = []
    for task, group in by_task(rows).items():
        found = curves(group, metric_of(group))
        sections.append(Section(task, {}, group, metric_of(group), {}, found, scalings(found, levels), {}))
    return [answer.sentence for answer in answers(sections)]


def _candidates(section: Section, anchor: str) -> list[Answer]:
    """The answers at each level and d."""
    groups: dict[tuple[float, int], list[NStars]] = {}
    for scaling in section.scalings:
        for reached in scaling.thresholds.values():
            if reached.replicates:
                groups.setdefault((reached.level, reached.d), []).append(reached)
    candidates, between = [], cache(partial(_between, section))
    for (level, d), group in groups.items():
        ranked = sorted(group, key=lambda reached: reached.rank)
        within, beyond = ([r for r in ranked if (r.right < len(r.replicates)) == inside] for inside in (True, False))
        candidates.append(Answer(section, anchor, level, d, within, beyond, between))
    return candidates


def _between(section: Section, a: str, b: str) -> Comparisons:
    levels = {scaling.level for scaling in section.scalings}
    of_a, of_b = ({curve.d: curve for curve in section.curves if curve.label == label} for label in (a, b))
    pairs = [(of_a[d], of_b[d]) for d in of_a.keys() & of_b.keys()]
    return {(found.level, found.d): found for found in compare_thresholds(pairs, levels)}


def _is_ahead(found: ThresholdComparison) -> bool:
    """Whether the first learner of a comparison is shown to need fewer points."""
    return found.verdict == f"{found.a} needs fewer"
