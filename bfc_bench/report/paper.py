"""Figures for papers: small texts, no title, a width; a paper says in its caption what a page says in notes."""

import re
from copy import deepcopy
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.report.drawing import Drawing

PIXELS = 96.0
"""Pixels per inch."""
LEAST = 90
"""Pixels of the narrowest panel that can be read."""
TALL = 320
"""Pixels of the highest panel that may get lower with its width; higher ones have a line of text for each learner."""
BESIDE = 50
"""Pixels beside a panel for its axis."""
SIZES = {
    "axis": {"labelFontSize": 9, "titleFontSize": 9.5, "gridWidth": 0.5, "tickSize": 3, "titlePadding": 3},
    "legend": {"labelFontSize": 9.5, "symbolSize": 36, "rowPadding": 1, "columnPadding": 10},
    "header": {"labelFontSize": 10},
    "facet": {"spacing": 8},
}
"""Settings of Vega-Lite."""
MARKS = {"size": 0.5, "strokeWidth": 0.7}
"""Sizes and widths of marks, as fractions of those in a page."""
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72}


def inches(text: str) -> float:
    """A length such as ``3.25in``, ``8.3cm``, ``84mm`` or ``234pt`` in inches. Raises ``UsageError``."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(in|cm|mm|pt)", text.strip())
    if not match or not (length := float(match[1]) * UNITS[match[2]]) > 0:
        raise UsageError(f"A width must be a number with in, cm, mm or pt, such as 3.25in. Got {text!r}.")
    return length


def for_paper(figure: Drawing, width: float | None = None) -> dict[str, Any]:
    """The Vega-Lite object of a figure without title and notes, with small texts.

    Panels share ``width``, in inches; None keeps their size. Raises ``UsageError`` if they do not fit into it.
    """
    spec = deepcopy(figure.spec())
    spec.pop("title", None)
    for layer in spec["spec"]["layer"]:
        layer["mark"] = layer["mark"] | {
            k: share * layer["mark"][k] for k, share in MARKS.items() if k in layer["mark"]
        }
    for part, sizes in SIZES.items():
        spec["config"][part] = spec["config"].get(part, {}) | sizes
    if width is None:
        return spec
    pixels = width * PIXELS
    columns = min(figure.columns, int(pixels / (LEAST + BESIDE)))
    if columns < 1:
        raise UsageError(
            f"A figure of {len(figure.panels)} panels does not fit into {width:.3g} in. Give it more, or show less."
        )
    longest = max(map(len, figure.labels), default=1)
    spec["columns"], spec["config"]["legend"]["columns"] = columns, max(1, int(pixels / (5.6 * longest + 32)))
    spec["spec"]["width"] = pixels / columns - BESIDE
    if spec["spec"]["height"] <= TALL:
        spec["spec"]["height"] = min(spec["spec"]["height"], 0.8 * spec["spec"]["width"])
    return spec
