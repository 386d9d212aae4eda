"""Draws the figures for targets on the sphere: R^2 per degree, and exponents beside theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.theory import harmonics_slope
from bfc_bench.report.plots import (
    MANY,
    METRIC_NAMES,
    Markers,
    in_order,
    many_bars,
    most,
    n_star_in_words,
    name_axes,
    spread,
)
from bfc_bench.report.style import (
    INK,
    Drawing,
    Style,
    Styles,
    add_title_and_legend,
    assign,
    grid,
    log_axis,
    spaced_ticks,
)
from bfc_bench.tasks.targets.harmonics import harmonics_dimension

LEAST = -0.25
"""Lower end of the axis of R^2; smaller values carry no information."""


def degree_curves(curves: Mapping[tuple[int, str], Mapping[int, Curve]], title: str = "") -> Drawing:
    """Draw R^2 of each degree against n with a mark at n = B(d, degree).

    ``curves`` is ``{(d, label): {degree: curve of 1 - R^2}}``. Each (d, label) has a panel: the arithmetic mean over
    replicates with its 95 % t-interval, each replicate as a dot.
    """
    degrees = sorted({degree for by_degree in curves.values() for degree in by_degree})
    styles = assign(f"degree {degree}" for degree in degrees)
    labels = len({label for _, label in curves})
    figure, axes = grid(len(curves), max(1, min(labels, 3)))
    sizes = sorted({float(n) for by_degree in curves.values() for curve in by_degree.values() for n in curve.n})
    log_axis(axes[0].xaxis, sizes, most=6, at=sizes, pad=0.04)
    axes[0].set_ylim(LEAST, 1.08)
    # Degrees stand side by side at each n, so that their intervals stay visible.
    step = 0.012 * np.log(sizes[-1] / sizes[0]) if sizes else 0.0
    shifts = {degree: np.exp((i - (len(degrees) - 1) / 2) * step) for i, degree in enumerate(degrees)}
    for panel, ((d, label), by_degree) in zip(axes, curves.items(), strict=True):
        for degree, curve in by_degree.items():
            style, n = styles[f"degree {degree}"], curve.n * shifts[degree]
            markers, r2 = Markers(panel, style.colour), np.maximum(1 - curve.values, LEAST)
            mean, lo, hi = (np.maximum(1 - error, LEAST) for error in (curve.mean, curve.hi, curve.lo))
            panel.vlines(n, lo, hi, color=style.colour, linewidth=1, alpha=0.6)
            if len(r2) > MANY:
                panel.vlines(n, *spread(r2), color=style.colour, linewidth=3, alpha=0.25)
            else:
                markers(np.tile(n, len(r2)), r2.ravel(), "o", markersize=2.4, alpha=0.4)
            markers(n, mean, style.marker, linestyle=style.line, linewidth=1.5)
            if sizes[0] <= harmonics_dimension(d, degree) <= sizes[-1]:
                panel.axvline(harmonics_dimension(d, degree), color=style.colour, linewidth=1, linestyle=":")
        last = {degree: 1 - curve.mean[-1] for degree, curve in by_degree.items() if np.isfinite(curve.mean[-1])}
        ends = "; ".join(f"degree {degree} {r2:.2g}" for degree, r2 in last.items())
        figure.descriptions[panel] = (
            f"R squared per degree of {label}, d = {d}, at the largest n: {ends or 'no values'}."
        )
        panel.set_title(f"{label}, d = {d}", loc="left", y=1.0, fontsize=10.5, color=INK)
    name_axes(axes, "training points n", "R² of the degree")
    many = any(len(curve.replicates) > MANY for by_degree in curves.values() for curve in by_degree.values())
    dots = f"Wide bar: {most('replicates')}" if many else "Dots: replicates"
    notes = [
        f"Line: mean of the replicates. Bar: its 95 % t-interval. {dots}. "
        "Dotted: n = B(d, k), the number of harmonics of degree k.",
        f"R² is an unbiased estimate and may exceed 1; values below {LEAST:g} are drawn at {LEAST:g}.",
    ]
    add_title_and_legend(figure, title, list(styles), styles, notes)
    return figure


def exponent_lines(
    scalings: Sequence[Scaling],
    degree: int,
    title: str = "",
    styles: Styles | None = None,
    asymptotic: Mapping[str, float] | None = None,
) -> Drawing:
    """Draw N* against d with the fitted power laws, one panel per level.

    The band is the 95 % interval of the slope, rotated about the middle of the fitted d.

    Args:
        scalings: N* by label and level.
        degree: Degree p of the target, for the curve B(d, p).
        title: Title above the panels.
        styles: Styles by label, in the order of the legend; new ones by default.
        asymptotic: Exponents of theorems by label, drawn as dotted lines.
    """
    labels = in_order((scaling.label for scaling in scalings), styles)
    styles = styles or assign(labels)
    panels = list(dict.fromkeys((scaling.metric, scaling.level) for scaling in scalings))
    figure, axes = grid(max(1, len(panels)), columns=min(3, max(1, len(panels))), height=4.2)
    thresholds = [c.n for scaling in scalings for crossings in scaling.crossings.values() for c in crossings]
    dims = sorted({d for scaling in scalings for d in scaling.thresholds})
    sizes = [float(harmonics_dimension(d, degree)) for d in dims]
    log_axis(axes[0].xaxis, map(float, dims), most=6, at=spaced_ticks([float(d) for d in dims]), pad=0.12)
    log_axis(axes[0].yaxis, thresholds + sizes, pad=0.08)
    if dims:  # room for the exponents beside the lines
        axes[0].set_xlim(right=dims[-1] * (dims[-1] / dims[0]) ** 0.5)
    for panel, (metric, level) in zip(axes, panels, strict=False):
        panel.plot(dims, sizes, color="#888888", linewidth=1.2, linestyle="--")
        for scaling in (s for s in scalings if (s.metric, s.level) == (metric, level)):
            _line(panel, scaling, styles[scaling.label], (asymptotic or {}).get(scaling.label))
        shown = {scaling.label: scaling for scaling in scalings if (scaling.metric, scaling.level) == (metric, level)}
        figure.descriptions[panel] = n_star_in_words(metric, level, shown)
        panel.set_title(f"{METRIC_NAMES.get(metric, metric)} ≤ {level:g}", loc="left", y=1.0, fontsize=10.5, color=INK)
    name_axes(axes, "input dimension d", "N*, training points")
    many = any(len(crossings) > MANY for scaling in scalings for crossings in scaling.crossings.values())
    notes = [
        "Line: the fitted N* ∝ dˢ, with s and its 95 % interval; band: that interval. "
        f"Dots: replicates{many_bars(many)}.",
        f"Grey dashes: B(d, {degree}), with slope {harmonics_slope(dims, degree):.2f} over the d shown.",
    ]
    if asymptotic:
        notes.append("Dotted: the asymptotic exponent of the theorem.")
    add_title_and_legend(figure, title, labels, styles, notes)
    return figure


def _line(panel: Axes, scaling: Scaling, style: Style, asymptotic: float | None) -> None:
    markers, fit = Markers(panel, style.colour), scaling.exponent
    for d, crossings in scaling.crossings.items():
        known = [crossing.n for crossing in crossings if crossing.censored is None]
        if len(known) > MANY:
            panel.vlines(d, *spread(np.array(known)[:, None]), color=style.colour, linewidth=4, alpha=0.3)
        else:
            markers([d] * len(known), known, style.marker, markersize=3.5, alpha=0.6)
    if fit.refused:
        return
    span = np.geomspace(fit.dims[0], fit.dims[-1], 20)
    middle = float(np.log(fit.dims).mean())
    height = fit.intercept + fit.value * middle

    def power_law(slope: float) -> np.ndarray:
        return np.asarray(np.exp(height + slope * (np.log(span) - middle)))

    panel.plot(span, power_law(fit.value), color=style.colour, linewidth=1.6)
    edges = np.sort([power_law(fit.lo), power_law(fit.hi)], axis=0)
    panel.fill_between(span, *edges, color=style.colour, alpha=0.13, linewidth=0)
    if asymptotic is not None:
        panel.plot(span, power_law(asymptotic), color=style.colour, linewidth=1, linestyle=":")
    beside = fit.dims[-1] == max(scaling.thresholds)  # else above the end, where no lower line continues
    panel.annotate(
        f"{fit.value:.2f} [{fit.lo:.2f}, {fit.hi:.2f}]",
        (span[-1], power_law(fit.value)[-1]),
        (6, 0) if beside else (-8, 8),
        textcoords="offset points",
        ha="left" if beside else "right",
        va="center",
        fontsize=8,
        color=style.colour,
    )
