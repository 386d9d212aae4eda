"""Draws levels of error and N* over learning curves; levels outside the axes are not drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report.style import FAINT, Drawing, Styles

NOTE = "Dotted line: a level of error. Bar on it: N*, the training points that a learner needs to reach it."


def mark_levels(
    figure: Drawing, panels: Sequence[tuple[str, int]], reached: Iterable[Reached], styles: Styles
) -> Sequence[str]:
    """Draw each level as a line with a bar at each known N*, and return the notes that explain them.

    Args:
        figure: Learning curves whose axes are final.
        panels: (task, d) of each panel.
        reached: Thresholds to draw.
        styles: Styles by label; other labels are left out.
    """
    drawn = set()
    for threshold in reached:
        if (threshold.task, threshold.d) not in panels or threshold.label not in styles:
            continue
        panel = figure.axes[panels.index((threshold.task, threshold.d))]
        low, high = panel.get_ylim()
        if not low < threshold.level < high:
            continue
        if (panel, threshold.level) not in drawn:
            drawn.add((panel, threshold.level))
            panel.axhline(threshold.level, color=FAINT, linewidth=0.9, linestyle=":", zorder=1)
        n_star = threshold.threshold
        if n_star.crossings and not n_star.left and not n_star.right:
            look: dict[str, Any] = {"marker": "|", "markersize": 13, "markeredgewidth": 2, "zorder": 4}
            panel.plot([n_star.interval.mean], [threshold.level], color=styles[threshold.label].colour, **look)
    return [NOTE] if drawn else []
