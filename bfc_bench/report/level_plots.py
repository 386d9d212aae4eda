"""Draws levels of error and N* over learning curves; levels outside the axes are not drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report.drawing import UPRIGHT, Drawing, Record
from bfc_bench.report.style import FAINT

NOTE = (
    "Dotted line: a level of error. Upright bar on it: N*, the training points that a learner needs to reach it; level "
    "bar: N* is only known to lie between its ends."
)
RISE = 4
"""Pixels between the bars of learners whose N* lies in the same range."""
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
    between: dict[int, list[Record]] = {}
    ranges: Counter[tuple[str, float, tuple[float, float]]] = Counter()
    low, high = figure.y.domain
    for threshold in reached:
        panel, level = panels.get((threshold.task, threshold.d)), threshold.level
        if panel is None or threshold.label not in figure.labels or not low < level < high:
            continue
        levels[panel, level] = {"panel": panel, "level": level}
        n_star = threshold.threshold
        if not n_star.crossings or n_star.left or n_star.right:
            continue
        record: Record = {"panel": panel, "label": threshold.label, "level": level}
        if n_star.within is None:
            known.append(record | {"N*": n_star.interval.mean})
        else:
            lo, hi = n_star.within
            place = ranges[panel, level, (lo, hi)]
            ranges[panel, level, (lo, hi)] += 1
            between.setdefault(place, []).append(record | {"from": lo, "to": hi})
    line = {"type": "rule", "color": FAINT, "strokeDash": [2, 3], "strokeWidth": 1.2}
    figure.add("level", line, levels.values(), fields={"x": "", "y": "level"}, tooltip={"level": "level"})
    at = {"x": "N*", "y": "level"}
    bar = {"type": "point", "filled": False, "shape": UPRIGHT, "size": 90, "strokeWidth": 2.5}
    figure.add("N*", bar, known, fields=at, tooltip=SHOWN)
    for place, records in between.items():
        look = {"type": "rule", "strokeWidth": 3, "yOffset": -RISE * place}
        fields = {"x": "from", "x2": "to", "y": "level"}
        shown = {"label": "learner", "level": "level", "from": "N* above", "to": "N* up to"}
        figure.add(f"N* between {place}", look, records, fields=fields, tooltip=shown)
    if levels:
        figure.notes.append(NOTE)
