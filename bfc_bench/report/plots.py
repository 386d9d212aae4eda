"""Draws the figures of a report: learning curves, thresholds against d, feature errors by stage.

Shapes: K sample sizes, R replicates. All axes are logarithmic, except those of errors that may be negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling, ascending
from bfc_bench.analysis.stages import StageErrors
from bfc_bench.analysis.thresholds import Reached, Threshold
from bfc_bench.report.axis import Axis, Positions, log_axis
from bfc_bench.report.drawing import ARROW_DOWN, ARROW_UP, CROSS, Drawing, Record
from bfc_bench.report.level_plots import mark_levels
from bfc_bench.report.style import Styles, assign, in_order
from bfc_bench.report.tables import interval_text, sample_size

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
LINE: dict[str, Any] = {"type": "line", "strokeWidth": 2}
BAND: dict[str, Any] = {"type": "area"}
BAR: dict[str, Any] = {"type": "rule", "strokeWidth": 1.5}
WIDE_BAR: dict[str, Any] = {"type": "rule", "strokeWidth": 5}
DOT: dict[str, Any] = {"type": "point", "filled": True, "shape": "circle", "size": 9}
MARKER: dict[str, Any] = {"type": "point", "filled": True, "size": 48}
OPEN: dict[str, Any] = {"type": "point", "filled": True, "fill": "#ffffff", "size": 60, "strokeWidth": 1.5}


def stroke(path: str, size: float = 60) -> dict[str, Any]:
    """The look of a marker that has no surface."""
    return {"type": "point", "filled": False, "shape": path, "size": size, "strokeWidth": 1.8}


def add_replicates(
    figure: Drawing, places: Iterable[tuple[Record, Sequence[float]]], field: str, *, across: str = "y", **look: Any
) -> str:
    """Draw the replicates of each place as dots, or as a bar over most of them if there are more than ``MANY``.

    ``places`` are records without ``field``, each with its values of it, which lie along the axis ``across``. Returns
    the note that explains the dots.
    """
    dots: list[Record] = []
    bars: list[Record] = []
    for place, values in places:
        if len(values) > MANY:
            (lo,), (hi,) = spread(np.array(values)[:, None])
            bars.append(place | {"lo": float(lo), "hi": float(hi)})
        else:
            dots += [place | {field: float(value)} for value in values]
    figure.add("most replicates", WIDE_BAR, bars, fields={across: "lo", f"{across}2": "hi"}, opacity=0.25)
    figure.add("replicate", look.pop("mark", DOT), dots, opacity=0.45, **look)
    bar = f"; bar: {most('of them')}" * bool(bars)
    return f"Dots: replicates{bar}."


def learning_curves(
    curves: Sequence[Curve], title: str = "", styles: Styles | None = None, *, reached: Iterable[Reached] = ()
) -> Drawing:
    """Draw error against n, one panel per (task, d): geometric mean, 95 % t-interval, each replicate.

    For more than ``MANY`` replicates, a second band from the 5 % to the 95 % quantile replaces the dots. Errors that
    may be negative, those in parts of the target, have a linear axis and arithmetic means. The axes span the measured
    values, so wide intervals, as for R = 2 or 3, extend beyond the panel. A size at which some replicates failed has an
    open marker and, if replicates are dots, a bar from the median to the worst; a size at which all failed has a cross
    at the top.
    """
    labels = in_order((curve.label for curve in curves), styles)
    styles = styles or assign(labels)
    several = len({curve.task for curve in curves}) > 1
    panels = {
        (curve.task, curve.d): f"{curve.task}, d = {curve.d}" if several else f"d = {curve.d}" for curve in curves
    }
    sizes = sorted({float(n) for curve in curves for n in curve.n})
    x = log_axis("n", "training points n", sizes, most=6, at=sizes, pad=0.04)
    metric = " / ".join(dict.fromkeys(METRIC_NAMES.get(curve.metric, curve.metric) for curve in curves)) or "NMSE"
    values = [value for curve in curves for value in _shown(curve).ravel()]
    if any(curve.scale == "linear" for curve in curves):
        y = linear_axis("error", metric, [*values, *(value for curve in curves for value in curve.mean)])
    else:
        y = log_axis("error", metric, values, most=9)
    figure = Drawing(x, y, list(panels.values()), styles, title)
    records = [
        record | {"panel": panels[c.task, c.d], "label": c.label} for c in curves for record in _records(c, y.domain[1])
    ]

    def of(part: str) -> Iterator[Record]:
        return (_without_part(record) for record in records if record["as"] == part)

    figure.labels = [label for label in labels if label in {record["label"] for record in records}]
    ends = {"y": "lo", "y2": "hi"}
    figure.put("mean", of("mean"))
    figure.draw("mean", BAND, fields=ends, opacity=0.13)
    figure.add("most replicates", BAND, of("most"), fields=ends, opacity=0.08)
    figure.add("replicate", DOT, of("replicate"), opacity=0.45, tooltip=_tooltip(metric, "label", "n", "error"))
    figure.draw("mean", LINE, dash=True)
    shown = _tooltip(metric, "label", "n", "error", "interval", "replicates")
    figure.draw("mean", MARKER, shape=True, tooltip=shown, when="!datum.failed")
    figure.add("median to worst", BAR, of("worst"), fields={"y": "median", "y2": "worst"})
    figure.draw("mean", OPEN, shape=True, tooltip=shown | {"failed": "failed"}, when="datum.failed")
    cross, nowhere = stroke(CROSS) | {"clip": False}, {"label": "learner", "n": "n", "failed": "failed"}
    figure.add("all failed", cross, of("all failed"), fields={"y": "top"}, tooltip=nowhere)
    figure.descriptions = [
        _curves_in_words(task, d, [curve for curve in curves if (curve.task, curve.d) == (task, d)])
        for task, d in panels
    ]
    mean = " or ".join(dict.fromkeys(curve.mean_in_words for curve in curves)) or "geometric mean"
    figure.notes = [f"Line: {mean} of the replicates. {_bands(curves)}"]
    if failing := [len(curve.replicates) for curve in curves if curve.failures.any()]:
        bar = "; bar: from median to worst of the others" * (min(failing) <= MANY)
        figure.notes.append(f"Open marker: a replicate failed{bar}. Cross at the top: all failed.")
    mark_levels(figure, panels, reached)
    if missing := [label for label in labels if label not in figure.labels]:
        figure.notes.append(f"No values (see the skips): {', '.join(missing)}.")
    return figure


def _without_part(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "as"}


def linear_axis(field: str, title: str, values: Iterable[float]) -> Axis:
    """A linear axis that fits values."""
    known = [float(value) for value in values if np.isfinite(value)] or [0.0, 1.0]
    margin = 0.05 * (max(known) - min(known)) or 0.5
    return Axis(field, title, (min(known) - margin, max(known) + margin), log=False)


def _tooltip(metric: str, *fields: str) -> dict[str, str]:
    names = {"label": "learner", "error": metric, "interval": "interval"}
    return {field: names.get(field, field) for field in fields}


def _records(curve: Curve, top: float) -> Iterator[Record]:
    """What a figure shows of one curve, whose upper end is ``top``; ``as`` says how."""
    shown, failures, many = _shown(curve), curve.failures, len(curve.replicates) > MANY
    lo, hi = spread(shown) if many else (curve.lo, curve.hi)
    for k, n in enumerate(curve.n.tolist()):
        values = shown[:, k][np.isfinite(shown[:, k])]
        failed = {"failed": int(failures[k])} if failures[k] else {}
        if not np.isfinite(curve.values[:, k]).any():
            if failures[k]:
                yield {"as": "all failed", "n": n, "top": top} | failed
            continue
        yield {
            "as": "mean",
            "n": n,
            "error": float(curve.mean[k]),
            "lo": float(curve.lo[k]),
            "hi": float(curve.hi[k]),
            "interval": interval_text(curve.lo[k], curve.hi[k]),
            "replicates": len(values),
        } | failed
        if many:
            yield {"as": "most", "n": n, "lo": float(lo[k]), "hi": float(hi[k])}
            continue
        yield from ({"as": "replicate", "n": n, "error": value} for value in values.tolist())
        if failures[k]:
            yield {"as": "worst", "n": n, "median": float(curve.median[k]), "worst": float(curve.worst[k])}


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


def thresholds_against(scalings: Sequence[Scaling], title: str = "", styles: Styles | None = None) -> Drawing:
    """Draw N*(eps) against d or another axis, one panel per level; along another axis also per task and d.

    The marker is the median over replicates, the dots are replicates. An arrow up is at the largest n of a replicate
    that did not reach the level, an arrow down at the smallest n of one that reached it there already. There is no
    marker if the median itself is censored.
    """
    labels = in_order((scaling.label for scaling in scalings), styles)
    styles = styles or assign(labels)
    axis = scalings[0].axis if scalings else "d"
    panels = {panel_of(scaling): panel_title(scaling) for scaling in scalings}
    measured = ascending({d: None for scaling in scalings for d in scaling.measured_dims})
    name = "input dimension d" if axis == "d" else axis
    positions = Positions.on("x", name, list(measured), log=True if axis == "d" else None)
    sizes = [c.n for scaling in scalings for crossings in scaling.crossings.values() for c in crossings]
    y = log_axis("N*", "N*, training points", sizes, pad=0.14)
    figure = Drawing(positions.axis, y, list(panels.values()), styles, title)
    replicates: list[tuple[Record, Sequence[float]]] = []
    parts: dict[str, list[Record]] = {"right": [], "left": [], "median": []}
    for panel, text in panels.items():
        by_label = {scaling.label: scaling for scaling in scalings if panel_of(scaling) == panel}
        for index, label in enumerate(label for label in labels if label in by_label):
            # Labels stand side by side at each d, so that equal thresholds and arrows stay visible.
            side, scaling = index - (len(labels) - 1) / 2, by_label[label]
            for d in scaling.measured_dims:
                at, threshold = {"panel": text, "label": label, "x": positions(d, side), axis: d}, scaling.thresholds[d]
                replicates.append((at, _sizes(threshold, None)))
                for censored in ("right", "left"):
                    parts[censored] += [at | {"N*": size} for size in _sizes(threshold, censored)]
                if threshold.median[0] == threshold.median[1]:
                    interval = sample_size(threshold)[1]
                    parts["median"].append(at | {"N*": float(threshold.median[0]), "interval": interval})
        figure.descriptions.append(n_star_in_words(panel[0], panel[1], by_label))
    shown = {"label": "learner", axis: axis, "N*": "N*", "interval": "interval"}
    dots = add_replicates(figure, replicates, "N*", mark=DOT | {"size": 14}, tooltip={"label": "learner", "N*": "N*"})
    figure.add("more", stroke(ARROW_UP, 40), parts["right"], tooltip={"label": "learner", "N*": "N* above"})
    figure.add("less", stroke(ARROW_DOWN, 40), parts["left"], tooltip={"label": "learner", "N*": "N* below"})
    figure.add("median", LINE, parts["median"], dash=True)
    figure.draw("median", MARKER, shape=True, tooltip=shown)
    figure.notes = [
        f"Marker: median of the replicates. {dots}",
        "Arrow up: some replicate needs more than that n. Arrow down: some replicate needs less than that n.",
    ]
    drawn = {scaling.label for scaling in scalings if scaling.measured_dims}
    figure.labels = [label for label in labels if label in drawn]
    return figure


def _sizes(threshold: Threshold, censored: str | None) -> list[float]:
    """The distinct N* of the replicates that are censored on this side, or not at all."""
    return sorted({float(crossing.n) for crossing in threshold.crossings if crossing.censored == censored})


def panel_of(scaling: Scaling) -> tuple[str, float, str]:
    """What the scalings of a panel have in common: metric, level and, along another axis than d, task and d."""
    return scaling.metric, scaling.level, "" if scaling.axis == "d" else f"{scaling.task}, d = {scaling.d}"


def panel_title(scaling: Scaling) -> str:
    """The title of a panel of N*."""
    metric, level, where = panel_of(scaling)
    return f"{where}: " * bool(where) + f"{METRIC_NAMES.get(metric, metric)} ≤ {level:g}"


def n_star_in_words(metric: str, level: float, by_label: Mapping[str, Scaling]) -> str:
    """A description of a panel of N* against d or another axis."""
    parts = []
    for label, scaling in by_label.items():
        if sizes := [f"{sample_size(scaling.thresholds[d])[0]} at {scaling.axis} = {d}" for d in scaling.measured_dims]:
            parts.append(f"{label} {', '.join(sizes)}")
    name = METRIC_NAMES.get(metric, metric)
    return f"Training points N* needed for {name} at most {level:g}: {'; '.join(parts) or 'no values'}."


def feature_errors(errors: Sequence[StageErrors], title: str = "", styles: Styles | None = None) -> Drawing:
    """Draw the relative Procrustes errors P of hidden features after each stage, one panel per d and layer.

    Each learner and stage has a line of its own, so that many learners at one error stay apart; the marker is the
    geometric mean, the dots are replicates, and the stages of a learner are joined.
    """
    labels = in_order((error.label for error in errors), styles)
    lines = list(dict.fromkeys((label, error.stage) for label in labels for error in errors if error.label == label))
    styles = styles or assign(labels)
    panels = {(error.d, error.quantity.part): f"{error.quantity.part}, d = {error.d}" for error in errors}
    x = log_axis("P", "feature error P (relative)", [value for error in errors for value in error.values])
    names = [f"{label} · {stage}" for label, stage in lines]
    y = Axis("line", "", (len(lines) - 0.4, -0.6), list(range(len(lines))), names, log=False)
    height = 30 + 22 * max(3, len(lines))
    columns = max(1, len({layer for _, layer in panels}))
    figure = Drawing(x, y, list(panels.values()), styles, title, columns=columns, height=height)
    places: list[tuple[Record, Sequence[float]]] = []
    means: list[Record] = []
    for error in errors:
        line = lines.index((error.label, error.stage))
        at = {"panel": panels[error.d, error.quantity.part], "label": error.label, "line": line, "stage": error.stage}
        interval = interval_text(error.interval.lo, error.interval.hi)
        means.append(at | {"P": error.interval.mean, "interval": interval, "replicates": len(error.values)})
        places.append((at, error.values))
    shown = {"label": "learner", "stage": "stage", "P": "P", "interval": "interval", "replicates": "replicates"}
    dots = add_replicates(figure, places, "P", across="x", tooltip={"label": "learner", "stage": "stage", "P": "P"})
    figure.add("mean", {"type": "line", "strokeWidth": 1, "strokeDash": [2, 3]}, means, order="line")
    figure.draw("mean", MARKER, shape=True, tooltip=shown)
    for (d, layer), panel in panels.items():
        ends = [f"{r['label']} {r['stage']} {r['P']:.2g}" for r in means if r["panel"] == panel]
        figure.descriptions.append(f"Feature error P of {layer}, d = {d}: {'; '.join(ends)}.")
    figure.labels = labels
    figure.notes = [f"Marker: geometric mean of the replicates. Line: stages of one learner. {dots}"]
    return figure
