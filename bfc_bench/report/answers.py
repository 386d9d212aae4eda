"""The first lines of a report: for each task, how many training points each learner needs, and which need the fewest.

One level of error and one d stand for a task: those at which N* of the most learners is known, then the smaller level
and the larger d. N* of each learner is compared with that of the learner that needs the fewest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from bfc_bench.analysis.compare import compare_curves
from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.thresholds import Reached, Threshold
from bfc_bench.report.section import Section
from bfc_bench.report.tables import number, sample_size


@dataclass(frozen=True)
class Need:
    """The training points that one learner needs."""

    label: str
    n_star: str
    """N* with its interval or bound: ``112 [43, 294]``, ``≤50``, ``113 [≤100, 130]``."""
    told: str
    """Facts about the target that the learner was told; empty for none."""
    fewest: bool
    """Whether no learner is shown to need fewer."""
    p: str
    """The p of the test against the learner that needs the fewest, if it is shown to need more."""


@dataclass(frozen=True)
class Answer:
    """What one task needs, the learner with the fewest training points first."""

    task: str
    anchor: str
    """Id of the task's section in the page."""
    metric: str
    level: float
    d: int
    needs: Sequence[Need]
    beyond: Sequence[str]
    """Labels that do not reach the level at any tested size in any replicate."""


def answers(sections: Sequence[Section]) -> list[Answer]:
    """The answer of each task whose N* is known for some learner."""
    found = (_answer(section, f"task-{place}") for place, section in enumerate(sections, start=1))
    return [answer for answer in found if answer is not None]


def _answer(section: Section, anchor: str) -> Answer | None:
    groups: dict[tuple[float, int], list[Reached]] = {}
    for scaling in section.scalings:
        for reached in scaling.reached:
            if reached.threshold.crossings:
                groups.setdefault((reached.level, reached.d), []).append(reached)
    if not groups:
        return None

    def shown(at: tuple[float, int]) -> tuple[int, bool, float, int]:
        level, d = at
        return sum(map(_is_known, groups[at])), any(map(_is_reached, groups[at])), -level, d

    level, d = max(groups, key=shown)
    ranked = sorted(groups[level, d], key=lambda reached: _size(reached.threshold))
    within = list(filter(_is_reached, ranked))
    if not within:
        return None
    at_d = {curve.label: curve for curve in section.curves if curve.d == d}
    best = at_d[within[0].label]
    needs = [_need(reached, best, at_d[reached.label], section.oracle.get(reached.label, "")) for reached in within]
    beyond = [reached.label for reached in ranked if reached not in within]
    return Answer(section.name, anchor, section.metric_name, level, d, needs, beyond)


def _is_known(reached: Reached) -> bool:
    """Whether N* is a number or a range between tested sizes in each replicate."""
    return not reached.threshold.left and not reached.threshold.right


def _is_reached(reached: Reached) -> bool:
    """Whether some replicate reaches the level at a tested size."""
    return reached.threshold.right < len(reached.threshold.crossings)


def _size(threshold: Threshold) -> tuple[float, float]:
    """The size that readers see, by which learners are ranked: the median if some N* lies beyond the tested sizes, else
    the geometric mean; then the geometric mean with the bounds in the place of those beyond."""
    logs = [math.log(crossing.n) for crossing in threshold.crossings]
    return median(logs) if threshold.left or threshold.right else fmean(logs), fmean(logs)


def _need(reached: Reached, best: Curve, curve: Curve, told: str) -> Need:
    size, detail = sample_size(reached.threshold)
    size = f"{size} {detail}".rstrip()
    if curve.label == best.label:
        return Need(reached.label, size, told, True, "")
    found = compare_curves(best, curve, reached.level)
    fewest = found.verdict != f"{best.name} needs fewer"
    return Need(reached.label, size, told, fewest, "" if fewest else f"p {number(found.p)}")
