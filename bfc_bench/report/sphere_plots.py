"""Draws R^2 per degree against n, for targets on the sphere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.report.axis import Axis, log_axis
from bfc_bench.report.drawing import Drawing, Record
from bfc_bench.report.plots import BAR, LINE, MARKER, add_replicates
from bfc_bench.report.style import assign
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
    places: list[tuple[Record, Sequence[float]]] = []
    sides: list[Record] = []
    for panel, ((d, label), by_degree) in zip(panels, curves.items(), strict=True):
        for degree, curve in by_degree.items():
            at = {"panel": panel, "label": f"degree {degree}"}
            means += [at | record for record in _means(curve, shifts[degree])]
            r2 = np.maximum(1 - curve.values, LEAST)
            places += [(at | {"at": n * shifts[degree]}, r2[:, k].tolist()) for k, n in enumerate(curve.n.tolist())]
            if sizes[0] <= harmonics_dimension(d, degree) <= sizes[-1]:
                sides.append(at | {"at": float(harmonics_dimension(d, degree))})
        last = {degree: 1 - curve.mean[-1] for degree, curve in by_degree.items() if np.isfinite(curve.mean[-1])}
        ends_in_words = "; ".join(f"degree {degree} {r2:.2g}" for degree, r2 in last.items())
        figure.descriptions.append(
            f"R squared per degree of {label}, d = {d}, at the largest n: {ends_in_words or 'no values'}."
        )
    figure.add("B(d, k)", BAR | {"strokeDash": [2, 3]}, sides, fields={"y": ""}, tooltip={"label": "", "at": "B(d, k)"})
    dots = add_replicates(figure, places, "r2")
    figure.put("mean", means)
    figure.draw("mean", BAR, fields={"y": "lo", "y2": "hi"}, opacity=0.6)
    figure.draw("mean", LINE, dash=True)
    figure.draw("mean", MARKER, shape=True, tooltip={"label": "", "n": "n", "r2": "R²", "interval": "interval"})
    figure.labels = list(styles)
    figure.notes = [
        f"Line: mean of the replicates. Bar: its 95 % t-interval. {dots} "
        "Dotted: n = B(d, k), the number of harmonics of degree k.",
        f"R² is an unbiased estimate and may exceed 1; values below {LEAST:g} are drawn at {LEAST:g}.",
    ]
    return figure


def _means(curve: Curve, shift: float) -> Iterator[Record]:
    for n, mean, low, high in zip(curve.n.tolist(), 1 - curve.mean, 1 - curve.hi, 1 - curve.lo, strict=True):
        r2, lo, hi = (float(np.maximum(value, LEAST)) for value in (mean, low, high))
        yield {"n": n, "at": n * shift, "r2": r2, "lo": lo, "hi": hi, "interval": interval_text(lo, hi)}
