"""Draws theoretical curves over figures of measured values, without changing their axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.theory import Theories, expected_n_star
from bfc_bench.report.style import INK, Styles

LEGEND = "theory, no free parameter"
DASHES = (0, (3, 2))
POINTS = 60
"""Points of a drawn curve."""


def add_theory(figure: Figure, curves: Sequence[Curve], theories: Theories, styles: Styles) -> None:
    """Draw the expected NMSE against n over ``plots.learning_curves``.

    Args:
        figure: The figure of the same ``curves``.
        curves: Learning curves.
        theories: Theories by (task, d, label).
        styles: Styles by label.
    """
    panels = list(dict.fromkeys((curve.task, curve.d) for curve in curves))
    drawn = []
    for curve in curves:
        theory = theories.get((curve.task, curve.d, curve.label))
        if theory is None or curve.metric != "nmse" or curve.stage is not None:
            continue
        panel = figure.axes[panels.index((curve.task, curve.d))]
        n = np.geomspace(curve.n[0], curve.n[-1], POINTS)
        _dashed(panel, n, [theory.nmse(size) for size in n], styles[curve.label].colour)
        drawn.append(panel)
    _add_legend(drawn)


def add_expected_n_star(figure: Figure, scalings: Sequence[Scaling], theories: Theories, styles: Styles) -> None:
    """Draw the expected N* against d over a figure of N*.

    Args:
        figure: A figure of the same ``scalings`` with one panel per level.
        scalings: Measured N*.
        theories: Theories by (task, d, label).
        styles: Styles by label.
    """
    panels = list(dict.fromkeys((scaling.metric, scaling.level) for scaling in scalings))
    drawn = []
    for scaling in scalings:
        by_d = {d: theories.get((scaling.task, d, scaling.label)) for d in scaling.measured_dims}
        sizes = {d: expected_n_star(theory, scaling.level) for d, theory in by_d.items() if theory}
        if scaling.metric == "nmse" and sizes:
            panel = figure.axes[panels.index((scaling.metric, scaling.level))]
            _dashed(panel, list(sizes), list(sizes.values()), styles[scaling.label].colour)
            drawn.append(panel)
    _add_legend(drawn)


def _dashed(panel: Axes, x: Sequence[float] | np.ndarray, y: Sequence[float], colour: str) -> None:
    """Draw a dashed line and keep the limits of the axes."""
    limits = panel.get_xlim(), panel.get_ylim()
    panel.plot(x, y, color=colour, linewidth=1.1, linestyle=DASHES, zorder=2.5)
    panel.set(xlim=limits[0], ylim=limits[1])


def _add_legend(drawn: Sequence[Axes]) -> None:
    """Explain the dashed line in the first panel that has one."""
    if drawn:
        handle = Line2D([], [], color=INK, linewidth=1.1, linestyle=DASHES, label=LEGEND)
        drawn[0].legend(handles=[handle], loc="best", frameon=False, fontsize=8, labelcolor=INK, handlelength=2.8)
