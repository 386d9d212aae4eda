"""Figures for papers: an exact width, small texts, no title; a paper says in its caption what a page says in notes."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from bfc_bench.errors import UsageError
from bfc_bench.report.pictures import picture

PIXELS = 96.0
"""Pixels per inch."""
LEAST = 90
"""Pixels of the narrowest panel that can be read."""
TALL = 320
"""Pixels of the highest panel that may get lower with its width; higher ones have a line of text for each learner."""
CLOSE = 1.0
"""Pixels by which the width may differ from what was asked for."""
STEPS = 5
PADDING = 5
"""Pixels around a figure, as Vega-Lite has by default."""
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
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(in|cm|mm|pt)", text.strip())
    if not found or not (length := float(found[1]) * UNITS[found[2]]) > 0:
        raise UsageError(f"A width must be a number with in, cm, mm or pt, such as 3.25in. Got {text!r}.")
    return length


def for_paper(spec: dict[str, Any], width: float | None = None) -> dict[str, Any]:
    """A figure without title and notes, with small texts.

    Args:
        spec: Vega-Lite's JSON object of a ``Drawing``.
        width: Width in inches; None to keep the size of the panels.

    Raises:
        UsageError: The panels do not fit into the width.
    """
    spec = deepcopy(spec)
    spec.pop("title", None)
    for layer in spec["spec"]["layer"]:
        layer["mark"] = layer["mark"] | {
            k: share * layer["mark"][k] for k, share in MARKS.items() if k in layer["mark"]
        }
    for part, sizes in SIZES.items():
        spec["config"][part] = spec["config"].get(part, {}) | sizes
    if width is None:
        return spec
    panels = len(spec["facet"]["sort"])
    for columns in range(min(spec["columns"], panels), 0, -1):
        if fitted := _fitted(deepcopy(spec), columns, width * PIXELS):
            return fitted
    raise UsageError(f"A figure of {panels} panels does not fit into {width:.3g} in. Give it more, or show less.")


def _fitted(spec: dict[str, Any], columns: int, pixels: float) -> dict[str, Any] | None:
    """The figure with so many columns at the width, None if its panels would be too narrow."""
    spec["columns"], panel = columns, spec["spec"]
    longest = max((len(label) for label in _labels(spec)), default=1)
    spec["config"]["legend"]["columns"] = max(1, int(pixels / (5.6 * longest + 32)))
    panel["width"] = pixels / columns - 50
    best: dict[float, float] = {}
    for _ in range(STEPS):  # not in one step, because the width jumps where another tick has room for its text
        if panel["width"] < LEAST:
            return None
        if panel["height"] <= TALL:
            panel["height"] = min(panel["height"], 0.8 * panel["width"])
        drawn = re.search(rb'<svg[^>]* width="([\d.]+)', picture(spec, "svg"))
        beyond = float(drawn[1]) - pixels if drawn else 0.0
        best[beyond] = panel["width"]
        if abs(beyond) <= CLOSE:
            break
        panel["width"] -= beyond / columns
    beyond = max((beyond for beyond in best if beyond <= CLOSE), default=min(best))
    panel["width"] = best[beyond]
    spec["padding"] = {"left": PADDING, "top": PADDING, "bottom": PADDING, "right": PADDING + max(0.0, -beyond)}
    return spec


def _labels(spec: dict[str, Any]) -> list[str]:
    scales = (layer.get("encoding", {}).get("color", {}).get("scale", {}) for layer in spec["spec"]["layer"])
    return [label for scale in scales for label in scale.get("domain", ())]
