"""Draws levels of error and N* over learning curves; levels outside the axes are not drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from bfc_bench.analysis.thresholds import Reached
from bfc_bench.report.style import FAINT, Drawing, Styles

NOTE = (
    "Dotted line: a level of error. Upright bar on it: N*, the training points that a learner needs to reach it; level "
    "bar: N* is only known to lie between its ends."
)
RISE = 3
"""Points between the bars of learners whose N* lies in the same range."""


def mark_levels(
    figure: Drawing, panels: Sequence[tuple[str, int]], reached: Iterable[Reached], styles: Styles
) -> Sequence[str]:
    """Draw each level as a line with a bar at or along each known N*, and return the notes that explain them.

    Args:
        figure: Learning curves whose axes are final.
        panels: (task, d) of each panel.
        reached: Thresholds to draw.
        styles: Styles by label; other labels are left out.
    """
    drawn = set()
    ranges: Counter[tuple[Axes, float, tuple[float, float]]] = Counter()
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
            colour = styles[threshold.label].colour
            look: dict[str, Any] = {"color": colour, "marker": "|", "markersize": 13, "markeredgewidth": 2, "zorder": 4}
            if n_star.within is None:
                panel.plot([n_star.interval.mean], [threshold.level], **look)
            else:
                at, ends = panel.transData, n_star.within
                at += ScaledTranslation(0, RISE * ranges[panel, threshold.level, ends] / 72, figure.dpi_scale_trans)
                ranges[panel, threshold.level, ends] += 1
                panel.plot(ends, [threshold.level] * 2, color=colour, linewidth=2, transform=at, zorder=4)
    return [NOTE] if drawn else []
