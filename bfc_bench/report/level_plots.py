"""Levels and N*, drawn over learning curves whose axes are fitted: a level beyond them is not drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report.style import FAINT, Drawing, Styles

NOTE = "Dotted line: a level of error. Bar on it: N*, the training points that a learner needs for it."


def mark_levels(
    figure: Drawing, panels: Sequence[tuple[str, int]], reached: Iterable[Reached], styles: Styles
) -> Sequence[str]:
    """Each level as a line, in the figure's ``panels`` of (task, d), with each N* that is known; what to say of it."""
    drawn = set()
    for found in reached:
        if (found.task, found.d) not in panels or found.label not in styles:
            continue
        panel = figure.axes[panels.index((found.task, found.d))]
        low, high = panel.get_ylim()
        if not low < found.level < high:
            continue
        if (panel, found.level) not in drawn:
            drawn.add((panel, found.level))
            panel.axhline(found.level, color=FAINT, linewidth=0.9, linestyle=":", zorder=1)
        crossing = found.threshold
        if crossing.crossings and not crossing.left and not crossing.right:
            look: dict[str, Any] = {"marker": "|", "markersize": 13, "markeredgewidth": 2, "zorder": 4}
            panel.plot([crossing.interval.mean], [found.level], color=styles[found.label].colour, **look)
    return [NOTE] if drawn else []
