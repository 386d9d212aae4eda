"""Draws the figures of a report: learning curves, thresholds against d, feature errors by stage.

Shapes: K sample sizes, R replicates. All axes are logarithmic, except those of errors that may be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling, ascending
from bfc_bench.analysis.stages import StageErrors
from bfc_bench.analysis.thresholds import Reached, Threshold
from bfc_bench.report.axis_positions import Positions
from bfc_bench.report.level_plots import mark_levels
from bfc_bench.report.style import (
    INK,
    Drawing,
    Style,
    Styles,
    add_title_and_legend,
    assign,
    grid,
    log_axis,
)
from bfc_bench.report.tables import sample_size

METRIC_NAMES = {
    "nmse": "NMSE",
    "nmse_trimmed": "trimmed NMSE",
    "error_rate": "error rate",
    "train_nmse": "training NMSE",
}
MANY = 20
"""Up to so many replicates are drawn as dots; of more, the range of most of them is drawn."""
MOST = (0.05, 0.95)
"""The quantiles between which most replicates lie."""
ARROW_UP = Path([(0, 0), (0, 1), (-0.3, 0.6), (0, 1), (0.3, 0.6)], [1, 2, 1, 2, 2])
ARROW_DOWN = ARROW_UP.transformed(Affine2D().scale(1, -1))


def learning_curves(
    curves: Sequence[Curve],
    title: str = "",
    styles: Styles | None = None,
    *,
    reached: Iterable[Reached] = (),
    width: float | None = None,
) -> Drawing:
    """Draw error against n, one panel per (task, d): geometric mean, 95 % t-interval, each replicate.

    For more than ``MANY`` replicates, a second band from the 5 % to the 95 % quantile replaces the dots. Errors that
    may be negative, those in parts of the target, have a linear axis and arithmetic means. The axes span the measured
    values, so wide intervals, as for R = 2 or 3, extend beyond the panel. A size at which some replicates failed has an
    open marker and, if replicates are dots, a bar from the median to the worst; a size at which all failed has a cross
    at the top.

    Args:
        curves: Learning curves of one metric.
        title: Title above the panels.
        styles: Styles by label, in the order of the legend; new ones by default.
        reached: Thresholds, drawn as dotted lines of their levels with a bar at each known N*.
        width: Width of a panel in inches.
    """
    panels = list(dict.fromkeys((curve.task, curve.d) for curve in curves))
    labels = in_order((curve.label for curve in curves), styles)
    styles = styles or assign(labels)
    several = len({task for task, _ in panels}) > 1
    figure, axes = grid(max(1, len(panels)), columns=min(3, max(1, len(panels))), width=width)
    sizes = sorted({float(n) for curve in curves for n in curve.n})
    log_axis(axes[0].xaxis, sizes, most=6, at=sizes, pad=0.04)
    linear = any(curve.scale == "linear" for curve in curves)
    if not linear:
        log_axis(axes[0].yaxis, [v for curve in curves for v in _shown(curve).ravel()], most=9)
    for panel, (task, d) in zip(axes, panels, strict=False):
        shown = [curve for curve in curves if (curve.task, curve.d) == (task, d)]
        for curve in shown:
            _curve(panel, curve, styles[curve.label])
        figure.descriptions[panel] = _curves_in_words(task, d, shown)
        panel.set_title(f"{task}, d = {d}" if several else f"d = {d}", loc="left", y=1.0, fontsize=10.5, color=INK)
    metrics = list(dict.fromkeys(METRIC_NAMES.get(curve.metric, curve.metric) for curve in curves))
    name_axes(axes, "training points n", " / ".join(metrics) or "NMSE")
    mean = " or ".join(dict.fromkeys(curve.mean_in_words for curve in curves)) or "geometric mean"
    notes = [f"Line: {mean} of the replicates. {_bands(curves)}"]
    if failing := [len(curve.replicates) for curve in curves if curve.failures.any()]:
        bar = "; bar: from median to worst of the others" * (min(failing) <= MANY)
        notes.append(f"Open marker: a replicate failed{bar}. Cross at the top: all failed.")
    drawn = [
        label for label in labels if label in {c.label for c in curves if np.isfinite(c.mean).any() or c.failures.any()}
    ]
    notes += mark_levels(figure, panels, reached, styles)
    if missing := [label for label in labels if label not in drawn]:
        notes.append(f"No values (see the skips): {', '.join(missing)}.")
    add_title_and_legend(figure, title, drawn, styles, notes)
    return figure


def _curves_in_words(task: str, d: int, curves: Sequence[Curve]) -> str:
    """A description of a panel of learning curves."""
    parts = []
    for curve in curves:
        measured = np.flatnonzero(np.isfinite(curve.mean))
        if measured.size:
            first, last = measured[0], measured[-1]
            ends = [f"{curve.mean[i]:.2g} at n = {curve.n[i]:,}" for i in dict.fromkeys((first, last))]
            parts.append(f"{curve.label} {', '.join(ends)}")
    metric = METRIC_NAMES.get(curves[0].metric, curves[0].metric) if curves else "error"
    return f"{metric} against training points n on {task}, d = {d}: {'; '.join(parts) or 'no values'}."


def _bands(curves: Sequence[Curve]) -> str:
    """A note on bands and dots."""
    counts = {len(curve.replicates) > MANY for curve in curves}
    band = " or ".join(dict.fromkeys(curve.interval_in_words for curve in curves)) or "95 % t-interval"
    if True not in counts:
        return f"Band: its {band}. Dots: replicates."
    dots = " Dots: replicates, if there are no more than that." * (False in counts)
    return f"Inner band: its {band}. Outer band: {most('replicates')}.{dots}"


def most(what: str) -> str:
    """A note on what replaces the dots of many replicates."""
    return f"from the 5 % to the 95 % quantile, for more than {MANY} {what}"


def spread(values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The quantiles ``MOST`` of values (R, K) over R without nan, as two arrays (K,); nan for columns of nan."""
    columns = [column[~np.isnan(column)] for column in np.asarray(values, dtype=float).T]
    lo, hi = np.array([np.quantile(column, MOST) if column.size else (np.nan, np.nan) for column in columns]).T
    return lo, hi


def _shown(curve: Curve) -> np.ndarray:
    """The values that are averaged, (R, K)."""
    return curve.values if curve.scale == "linear" else np.exp(curve.log_values)


def _curve(panel: Axes, curve: Curve, style: Style) -> None:
    n, colour = np.asarray(curve.n, dtype=float), style.colour
    markers = Markers(panel, colour)
    measured, failed = np.isfinite(curve.values).any(axis=0), curve.failures > 0
    band = measured & np.isfinite(curve.lo)
    panel.fill_between(n[band], curve.lo[band], curve.hi[band], color=colour, alpha=0.13, linewidth=0)
    if len(curve.replicates) > MANY:
        lo, hi = spread(_shown(curve))
        panel.fill_between(n, lo, hi, facecolor=colour, alpha=0.08, linewidth=0)
        for edge in (lo, hi):
            panel.plot(n, edge, color=colour, linewidth=0.6, alpha=0.7, linestyle=style.line)
    else:
        markers(np.tile(n, len(curve.values)), _shown(curve).ravel(), "o", markersize=2.4, alpha=0.4)
    markers(n[measured], curve.mean[measured], style.marker, linestyle=style.line, linewidth=1.7, label=curve.label)
    some, none = measured & failed, ~measured & failed
    if len(curve.replicates) <= MANY:
        panel.vlines(n[some], curve.median[some], curve.worst[some], color=colour, linewidth=1.2)
        markers(np.tile(n[some], 2), np.concatenate([curve.median[some], curve.worst[some]]), "_", markersize=7)
    markers(n[some], curve.mean[some], style.marker, markersize=5.5, markerfacecolor="white", zorder=3)
    across = panel.get_xaxis_transform()
    markers(n[none], np.full(none.sum(), 0.97), "x", markersize=6, markeredgewidth=1.6, transform=across, clip_on=False)


@dataclass(frozen=True)
class Markers:
    """Draws markers of one colour, and no empty lines, which would distort the layout."""

    panel: Axes
    colour: str

    def __call__(self, x: ArrayLike, y: ArrayLike, marker: str | Path, **look: Any) -> None:
        """Draw markers at x and y, arrays of one shape."""
        if np.isfinite(y).any():
            options: dict[str, Any] = {"linestyle": "", "markersize": 5} | look
            self.panel.plot(x, y, color=self.colour, marker=marker, **options)


def thresholds_against(
    scalings: Sequence[Scaling], title: str = "", styles: Styles | None = None, *, width: float | None = None
) -> Drawing:
    """Draw N*(eps) against d or another axis, one panel per level; along another axis also per task and d.

    The marker is the median over replicates, the dots are replicates. An arrow up is at the largest n of a replicate
    that did not reach the level, an arrow down at the smallest n of one that reached it there already. There is no
    marker if the median itself is censored.

    Args:
        scalings: N* by label and level.
        title: Title above the panels.
        styles: Styles by label, in the order of the legend; new ones by default.
        width: Width of a panel in inches.
    """
    labels = in_order((scaling.label for scaling in scalings), styles)
    styles = styles or assign(labels)
    axis = scalings[0].axis if scalings else "d"
    panels = list(dict.fromkeys((scaling.metric, scaling.level, _where(scaling)) for scaling in scalings))
    figure, axes = grid(max(1, len(panels)), columns=min(3, max(1, len(panels))), width=width)
    measured = ascending({d: None for scaling in scalings for d in scaling.measured_dims})
    positions = Positions.on(axes[0].xaxis, list(measured), log=True if axis == "d" else None)
    sizes = [c.n for scaling in scalings for crossings in scaling.crossings.values() for c in crossings]
    log_axis(axes[0].yaxis, sizes, pad=0.14)
    for panel, (metric, level, where) in zip(axes, panels, strict=False):
        by_label = {s.label: s for s in scalings if (s.metric, s.level, _where(s)) == (metric, level, where)}
        for index, label in enumerate(label for label in labels if label in by_label):
            # Labels stand side by side at each d, so that equal thresholds and arrows stay visible.
            side, scaling = index - (len(labels) - 1) / 2, by_label[label]
            at = {positions(d, side): scaling.thresholds[d] for d in scaling.measured_dims}
            _thresholds(panel, at, styles[label])
        figure.descriptions[panel] = n_star_in_words(metric, level, by_label)
        head = f"{METRIC_NAMES.get(metric, metric)} ≤ {level:g}"
        panel.set_title(f"{where}: {head}" if where else head, loc="left", y=1.0, fontsize=10.5, color=INK)
    name_axes(axes, "input dimension d" if axis == "d" else axis, "N*, training points")
    many = any(len(crossings) > MANY for scaling in scalings for crossings in scaling.crossings.values())
    notes = [
        f"Marker: median of the replicates. Dots: replicates{many_bars(many)}.",
        "Arrow up: some replicate needs more than that n. Arrow down: some replicate needs less than that n.",
    ]
    drawn = {scaling.label for scaling in scalings if scaling.measured_dims}
    add_title_and_legend(figure, title, [label for label in labels if label in drawn], styles, notes)
    return figure


def _where(scaling: Scaling) -> str:
    """What a panel against another axis than d has in common: task and d."""
    return "" if scaling.axis == "d" else f"{scaling.task}, d = {scaling.d}"


def n_star_in_words(metric: str, level: float, by_label: Mapping[str, Scaling]) -> str:
    """A description of a panel of N* against d or another axis.

    Args:
        metric: Column of the errors.
        level: Level of error.
        by_label: N* by label.
    """
    parts = []
    for label, scaling in by_label.items():
        if sizes := [f"{sample_size(scaling.thresholds[d])[0]} at {scaling.axis} = {d}" for d in scaling.measured_dims]:
            parts.append(f"{label} {', '.join(sizes)}")
    name = METRIC_NAMES.get(metric, metric)
    return f"Training points N* needed for {name} at most {level:g}: {'; '.join(parts) or 'no values'}."


def _thresholds(panel: Axes, at: Mapping[float, Threshold], style: Style) -> None:
    markers = Markers(panel, style.colour)
    for d, threshold in at.items():
        for censored, marker, size in ((None, "o", 3), ("right", ARROW_UP, 13), ("left", ARROW_DOWN, 13)):
            n = sorted({crossing.n for crossing in threshold.crossings if crossing.censored == censored})
            if censored is None and len(n) > MANY:
                panel.vlines(d, *spread(np.array(n)[:, None]), color=style.colour, linewidth=4, alpha=0.3)
                continue
            markers([d] * len(n), n, marker, markersize=size, alpha=1 if censored else 0.45)
    medians = {d: threshold.median[0] for d, threshold in at.items() if threshold.median[0] == threshold.median[1]}
    markers(list(medians), list(medians.values()), style.marker, linestyle=style.line, linewidth=1.5)


def feature_errors(errors: Sequence[StageErrors], title: str = "", styles: Styles | None = None) -> Drawing:
    """Draw P_l of the hidden features by learner and stage, for one n at each d.

    One panel per (d, layer), one line per (label, stage) in order of training. The label's marker is the geometric
    mean, the dots are replicates, and the stages of a learner are joined.

    Args:
        errors: Feature errors by label, stage, d and layer.
        title: Title above the panels.
        styles: Styles by label, in the order of the legend; new ones by default.
    """
    labels = in_order((error.label for error in errors), styles)
    lines = list(dict.fromkeys((label, error.stage) for label in labels for error in errors if error.label == label))
    styles = styles or assign(labels)
    panels = list(dict.fromkeys((error.d, error.quantity.part) for error in errors))
    layers = len({layer for _, layer in panels})
    figure, axes = grid(max(1, len(panels)), max(1, layers), width=4.2, height=0.5 + 0.24 * max(3, len(lines)))
    log_axis(axes[0].xaxis, [value for error in errors for value in error.values])
    axes[0].set_ylim(len(lines) - 0.4, -0.6)
    axes[0].set_yticks(range(len(lines)), [f"{label} · {stage}" for label, stage in lines])
    for panel, (d, layer) in zip(axes, panels, strict=False):
        group = {(e.label, e.stage): e for e in errors if (e.d, e.quantity.part) == (d, layer)}
        for label in labels:
            own = {i: group[key] for i, key in enumerate(lines) if key[0] == label and key in group}
            _features(panel, own, styles[label])
        means = [f"{label} {stage} {error.interval.mean:.2g}" for (label, stage), error in group.items()]
        figure.descriptions[panel] = f"Feature error P of {layer}, d = {d}: {'; '.join(means)}."
        panel.set_title(f"{layer}, d = {d}", loc="left", y=1.0, fontsize=10.5, color=INK)
    name_axes(axes, "feature error P (relative)", "")
    many = any(len(error.values) > MANY for error in errors)
    add_title_and_legend(
        figure,
        title,
        labels,
        styles,
        [f"Marker: geometric mean of the replicates. Line: stages of one learner. Dots: replicates{many_bars(many)}."],
    )
    return figure


def _features(panel: Axes, own: Mapping[int, StageErrors], style: Style) -> None:
    """Draw the feature errors of one learner in one panel, by line."""
    markers = Markers(panel, style.colour)
    for line, error in own.items():
        if len(error.values) > MANY:
            panel.hlines(line, *spread(np.array(error.values)[:, None]), color=markers.colour, linewidth=5, alpha=0.25)
            continue
        markers(error.values, np.full(len(error.values), line), "o", markersize=3, alpha=0.4, markeredgewidth=0)
    means = [error.interval.mean for error in own.values()]
    markers(means, list(own), style.marker, markersize=6, linestyle=":", linewidth=1)


def many_bars(many: bool) -> str:
    """An addition to a note on dots if ``many`` replicates are drawn as a bar."""
    return f"; bar: {most('of them')}" * many


def in_order(labels: Iterable[str], styles: Styles | None) -> list[str]:
    """Distinct labels in the order of ``styles`` if given."""
    distinct = list(dict.fromkeys(labels))
    return [label for label in styles if label in distinct] if styles else distinct


def name_axes(axes: Sequence[Axes], x: str, y: str) -> None:
    """Name the axes of panels.

    Args:
        axes: The panels.
        x: Name of the x axis, for every panel.
        y: Name of the y axis, for the panels of the first column.
    """
    for panel in axes:
        spec = panel.get_subplotspec()
        panel.set_xlabel(x, fontsize=9.5, color=INK)
        if spec is None or spec.is_first_col():
            panel.set_ylabel(y, fontsize=9.5, color=INK)
