"""Draws the figures for targets on the sphere: R^2 per degree, and exponents beside theory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.analysis.scaling import Scaling
from bfc_bench.analysis.theory import harmonics_slope
from bfc_bench.report.axis import Axis, log_axis, spaced_ticks
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.plots import (
    BAND,
    BAR,
    DOT,
    LINE,
    MANY,
    MARKER,
    METRIC_NAMES,
    WIDE_BAR,
    many_bars,
    most,
    n_star_in_words,
    spread,
)
from bfc_bench.report.style import Styles, assign, in_order
from bfc_bench.report.tables import interval_text
from bfc_bench.tasks.targets.harmonics import harmonics_dimension

LEAST = -0.25
"""Lower end of the axis of R^2; smaller values carry no information."""
GREY = "#888888"


def degree_curves(curves: Mapping[tuple[int, str], Mapping[int, Curve]], title: str = "") -> Drawing:
    """Draw R^2 of each degree against n with a mark at n = B(d, degree).

    ``curves`` is ``{(d, label): {degree: curve of 1 - R^2}}``. Each (d, label) has a panel: the arithmetic mean over
    replicates with its 95 % t-interval, each replicate as a dot.
    """
    degrees = sorted({degree for by_degree in curves.values() for degree in by_degree})
    styles = assign(f"degree {degree}" for degree in degrees)
    sizes = sorted({float(n) for by_degree in curves.values() for curve in by_degree.values() for n in curve.n})
    x = log_axis("at", "training points n", sizes, most=6, at=sizes, pad=0.04)
    y = Axis("r2", "R² of the degree", (LEAST, 1.08), log=False)
    panels = [f"{label}, d = {d}" for d, label in curves]
    figure = Drawing(x, y, panels, styles, title, columns=max(1, min(len({label for _, label in curves}), 3)))
    # Degrees stand side by side at each n, so that their intervals stay visible.
    step = 0.012 * np.log(sizes[-1] / sizes[0]) if sizes else 0.0
    shifts = {degree: float(np.exp((i - (len(degrees) - 1) / 2) * step)) for i, degree in enumerate(degrees)}
    means: list[Record] = []
    dots: list[Record] = []
    bars: list[Record] = []
    sides: list[Record] = []
    for panel, ((d, label), by_degree) in zip(panels, curves.items(), strict=True):
        for degree, curve in by_degree.items():
            at = {"panel": panel, "label": f"degree {degree}"}
            means += [at | record for record in _means(curve, shifts[degree])]
            r2, places = np.maximum(1 - curve.values, LEAST), (curve.n * shifts[degree]).tolist()
            if len(r2) > MANY:
                ends = zip(places, *spread(r2), strict=True)
                bars += [at | {"at": place, "lo": float(lo), "hi": float(hi)} for place, lo, hi in ends]
            else:
                dots += [at | {"at": n, "r2": float(v)} for row in r2 for n, v in zip(places, row, strict=True)]
            if sizes[0] <= harmonics_dimension(d, degree) <= sizes[-1]:
                sides.append(at | {"at": float(harmonics_dimension(d, degree))})
        last = {degree: 1 - curve.mean[-1] for degree, curve in by_degree.items() if np.isfinite(curve.mean[-1])}
        ends_in_words = "; ".join(f"degree {degree} {r2:.2g}" for degree, r2 in last.items())
        figure.descriptions.append(
            f"R squared per degree of {label}, d = {d}, at the largest n: {ends_in_words or 'no values'}."
        )
    edges = {"y": "lo", "y2": "hi"}
    figure.add("B(d, k)", BAR | {"strokeDash": [2, 3]}, sides, fields={"y": ""}, tooltip={"label": "", "at": "B(d, k)"})
    figure.put("mean", means)
    figure.draw("mean", BAR, fields=edges, opacity=0.6)
    figure.add("most replicates", WIDE_BAR, bars, fields=edges, opacity=0.25)
    figure.add("replicate", DOT, dots, opacity=0.4)
    figure.draw("mean", LINE, dash=True)
    figure.draw("mean", MARKER, shape=True, tooltip={"label": "", "n": "n", "r2": "R²", "interval": "interval"})
    many = any(len(curve.replicates) > MANY for by_degree in curves.values() for curve in by_degree.values())
    replicates = f"Wide bar: {most('replicates')}" if many else "Dots: replicates"
    figure.labels = list(styles)
    figure.notes = [
        f"Line: mean of the replicates. Bar: its 95 % t-interval. {replicates}. "
        "Dotted: n = B(d, k), the number of harmonics of degree k.",
        f"R² is an unbiased estimate and may exceed 1; values below {LEAST:g} are drawn at {LEAST:g}.",
    ]
    return figure


def _means(curve: Curve, shift: float) -> Iterator[Record]:
    for n, mean, low, high in zip(curve.n.tolist(), 1 - curve.mean, 1 - curve.hi, 1 - curve.lo, strict=True):
        r2, lo, hi = (float(np.maximum(value, LEAST)) for value in (mean, low, high))
        yield {"n": n, "at": n * shift, "r2": r2, "lo": lo, "hi": hi, "interval": interval_text(lo, hi)}


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
    panels = {
        (scaling.metric, scaling.level): f"{METRIC_NAMES.get(scaling.metric, scaling.metric)} ≤ {scaling.level:g}"
        for scaling in scalings
    }
    thresholds = [c.n for scaling in scalings for crossings in scaling.crossings.values() for c in crossings]
    dims = sorted({d for scaling in scalings for d in scaling.thresholds})
    sizes = [float(harmonics_dimension(d, degree)) for d in dims]
    at = list(map(float, dims))
    room = [at[-1] * (at[-1] / at[0]) ** 0.4] if at else []  # for the exponents beside the lines
    x = log_axis("d", "input dimension d", at + room, most=6, at=spaced_ticks(at), pad=0.1)
    y = log_axis("N*", "N*, training points", thresholds + sizes, pad=0.08)
    figure = Drawing(x, y, list(panels.values()), styles, title, height=310)
    parts: dict[str, list[Record]] = {name: [] for name in ("fit", "theorem", "dots", "bars", "texts", "B")}
    for (metric, level), panel in panels.items():
        parts["B"] += [{"panel": panel, "d": d, "N*": size} for d, size in zip(at, sizes, strict=True)]
        shown = {scaling.label: scaling for scaling in scalings if (scaling.metric, scaling.level) == (metric, level)}
        for scaling in shown.values():
            of: Record = {"panel": panel, "label": scaling.label}
            known = {
                d: [float(c.n) for c in crossings if c.censored is None] for d, crossings in scaling.crossings.items()
            }
            for d, n in known.items():
                if len(n) > MANY:
                    lo, hi = spread(np.array(n)[:, None])
                    parts["bars"].append(of | {"d": d, "lo": float(lo[0]), "hi": float(hi[0])})
                else:
                    parts["dots"] += [of | {"d": d, "N*": size} for size in n]
            if not scaling.exponent.refused:
                limit = (asymptotic or {}).get(scaling.label)
                line, text, theorem = _law(scaling, limit)
                parts["fit"] += [of | record for record in line]
                parts["theorem"] += [of | record for record in theorem]
                parts["texts"].append(of | text)
        figure.descriptions.append(n_star_in_words(metric, level, shown))
    figure.add("B(d, p)", {"type": "line", "color": GREY, "strokeDash": [5, 3], "strokeWidth": 1.5}, parts["B"])
    figure.put("fit", parts["fit"])
    figure.draw("fit", BAND, fields={"y": "lo", "y2": "hi"}, opacity=0.13)
    figure.add("theorem", {"type": "line", "strokeWidth": 1.2, "strokeDash": [1, 3]}, parts["theorem"])
    names = {"label": "learner", "exponent": "s", "interval": "interval"}
    figure.draw("fit", LINE | {"strokeWidth": 1.8}, tooltip=names)
    figure.add("most replicates", WIDE_BAR, parts["bars"], fields={"y": "lo", "y2": "hi"}, opacity=0.3)
    shown_names = {"label": "learner", "d": "d", "N*": "N*"}
    figure.add("replicate", MARKER | {"size": 22}, parts["dots"], shape=True, opacity=0.7, tooltip=shown_names)
    look: Record = {"type": "text", "fontSize": 10, "clip": False}
    beside = [record for record in parts["texts"] if record["d"] == at[-1]]
    above = [record for record in parts["texts"] if record["d"] < at[-1]]  # where no lower line continues
    figure.add("exponent", look | {"align": "left", "dx": 6}, beside, text="text")
    figure.add("exponent of a shorter line", look | {"align": "right", "dx": -8, "dy": -8}, above, text="text")
    many = any(len(crossings) > MANY for scaling in scalings for crossings in scaling.crossings.values())
    figure.labels = labels
    figure.notes = [
        "Line: the fitted N* ∝ dˢ, with s and its 95 % interval; band: that interval. "
        f"Dots: replicates{many_bars(many)}.",
        f"Grey dashes: B(d, {degree}), with slope {harmonics_slope(dims, degree):.2f} over the d shown.",
    ]
    if asymptotic:
        figure.notes.append("Dotted: the asymptotic exponent of the theorem.")
    return figure


def _law(scaling: Scaling, asymptotic: float | None) -> tuple[list[Record], Record, list[Record]]:
    """The fitted power law with its band, the text at its end, and the law with the exponent of a theorem."""
    fit = scaling.exponent
    middle = float(np.log(fit.dims).mean())
    height = fit.intercept + fit.value * middle

    def n_star(slope: float, d: float) -> float:
        return float(np.exp(height + slope * (np.log(d) - middle)))

    words = f"[{fit.lo:.2f}, {fit.hi:.2f}]"
    lines = []
    for d in np.geomspace(fit.dims[0], fit.dims[-1], 20).tolist():
        lo, hi = sorted((n_star(fit.lo, d), n_star(fit.hi, d)))
        lines.append({"d": d, "N*": n_star(fit.value, d), "lo": lo, "hi": hi, "exponent": fit.value, "interval": words})
    ends = (
        []
        if asymptotic is None
        else [{"d": float(d), "N*": n_star(asymptotic, d)} for d in (fit.dims[0], fit.dims[-1])]
    )
    last = float(fit.dims[-1])
    return lines, {"d": last, "N*": n_star(fit.value, last), "text": f"{fit.value:.2f} {words}"}, ends
