"""Draws levels of error and N* over learning curves; levels outside the axes are not drawn."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report.drawing import UPRIGHT, Drawing, Record
from bfc_bench.report.style import FAINT

NOTE = (
    "Dotted line: a level of error. Upright bar on it: N*, the training points that a learner needs to reach it, or "
    "near the middle of the two sizes between which N* lies."
)
STEP = 0.06
"""Distance between the bars of learners whose N* lies in the same range, as a fraction of its logarithm."""
SHOWN = {"label": "learner", "level": "level", "N*": "N*"}


def mark_levels(figure: Drawing, panels: Mapping[tuple[str, int], str], reached: Iterable[Reached]) -> None:
    """Draw each level as a line with a bar at or along each known N*, and add the notes that explain them.

    Args:
        figure: Learning curves.
        panels: Titles of the panels by (task, d).
        reached: Thresholds to draw; those of labels that the figure does not show are left out.
    """
    levels: dict[tuple[str, float], Record] = {}
    known: list[Record] = []
    ranges: defaultdict[tuple[str, float], Counter[tuple[float, float]]] = defaultdict(Counter)
    low, high = figure.y.domain
    for threshold in reached:
        panel, level = panels.get((threshold.task, threshold.d)), threshold.level
        if panel is None or threshold.label not in figure.labels or not low < level < high:
            continue
        levels[panel, level] = {"panel": panel, "level": level}
        n_star = threshold.threshold
        if n_star.crossings and not n_star.left and not n_star.right:
            size = n_star.interval.mean if n_star.within is None else _between(n_star.within, ranges[panel, level])
            known.append({"panel": panel, "label": threshold.label, "level": level, "N*": size})
    line = {"type": "rule", "color": FAINT, "strokeDash": [2, 3], "strokeWidth": 1.2}
    figure.add("level", line, levels.values(), fields={"x": "", "y": "level"}, tooltip={"level": "level"})
    bar = {"type": "point", "filled": False, "shape": UPRIGHT, "size": 90, "strokeWidth": 2.5}
    figure.add("N*", bar, known, fields={"x": "N*", "y": "level"}, tooltip=SHOWN)
    if levels:
        figure.notes.append(NOTE)


def _between(ends: tuple[float, float], taken: Counter[tuple[float, float]]) -> float:
    """A size between two sizes: the middle, a step from it for each learner that is drawn there already."""
    lo, hi = ends
    steps, taken[ends] = taken[ends], taken[ends] + 1
    side = 1 if steps % 2 else -1
    return float(lo * (hi / lo) ** (0.5 + side * STEP * ((steps + 1) // 2)))
