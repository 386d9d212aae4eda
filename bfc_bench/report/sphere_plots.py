"""Draws R^2 per degree against n, for targets on the sphere."""

from collections.abc import Mapping

import numpy as np

from bfc_bench.analysis.curves import Curve
from bfc_bench.report import marks
from bfc_bench.report.axis import Axis, log_axis
from bfc_bench.report.drawing import Drawing, Mark, Record
from bfc_bench.utils.legendre import harmonics_dimension

LEAST = -0.25
"""Lower end of the axis of R^2; smaller values carry no information."""


def degree_curves(curves: Mapping[tuple[int, str], Mapping[int, Curve]]) -> Drawing:
    """Draw R^2 of each degree against n with a mark at n = B(d, degree).

    ``curves`` is ``{(d, label): {degree: curve of 1 - R^2}}``. Each (d, label) has a panel: the arithmetic mean over
    replicates with its 95 % t-interval, each replicate as a dot.
    """
    degrees = sorted({degree for by_degree in curves.values() for degree in by_degree})
    sizes = sorted({float(n) for by_degree in curves.values() for c in by_degree.values() for n in c.n[c.shared]})
    x = log_axis("at", "training points n", sizes, most=6, at=sizes, pad=0.04)
    y = Axis("r2", "R² of the degree", (LEAST, 1.08), log=False)
    panels = {(d, label): f"{label}, d = {d}" for d, label in curves}
    columns = max(1, min(len({label for _, label in curves}), 3))
    figure = Drawing(x, y, panels.values(), (f"degree {k}" for k in degrees), columns=columns)
    # Degrees stand side by side at each n, so that their intervals stay visible.
    step = 0.012 * np.log(sizes[-1] / sizes[0]) if sizes else 0.0
    shifts = {degree: float(np.exp((i - (len(degrees) - 1) / 2) * step)) for i, degree in enumerate(degrees)}
    means, sides = list[Record](), list[Record]()
    for (d, label), by_degree in curves.items():
        for degree, curve in by_degree.items():
            of = {"panel": panels[d, label], "label": f"degree {degree}"}
            if sizes[0] <= (size := harmonics_dimension(d, degree)) <= sizes[-1]:
                sides.append(of | {"at": float(size)})
            for point, errors in marks.measured(curve):
                at = of | {"n": point.n, "at": point.n * shifts[degree]}
                values = [max(1 - error, LEAST) for error in errors]
                r2, lo, hi = (float(np.maximum(1 - error, LEAST)) for error in (point.mean, point.hi, point.lo))
                means.append(at | {"r2": r2, "values": values} | marks.interval(lo, hi))
    dotted = Mark(marks.BAR | {"strokeDash": [2, 3]}, {"y": ""}, tooltip={"label": "", "at": "B(d, k)"})
    figure.add("B(d, k)", sides, dotted)
    tooltip = {"label": "", "n": "n", "r2": "R²", "interval": "interval"}
    looks = (marks.INTERVAL_BAR, marks.CURVE, Mark(marks.MARKER, shape=True, tooltip=tooltip))
    dots = marks.add_points(figure, means, *looks)
    figure.notes = [
        f"Line: mean of the replicates. Bar: its 95 % t-interval. {dots} "
        "Dotted: n = B(d, k), the number of harmonics of degree k.",
        f"R² is an unbiased estimate and may exceed 1; values below {LEAST:g} are drawn at {LEAST:g}.",
    ]
    return figure
