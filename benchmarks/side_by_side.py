"""Puts figures whose axes differ beside each other, as one Vega-Lite chart."""

from __future__ import annotations

import json
import re
from typing import Any

from bfc_bench.report.drawing import Drawing

OWN = ("data", "facet", "columns", "spec", "resolve")
"""What each figure keeps of its specification; the rest is the same for all of them."""


def side_by_side(title: str, *figures: Drawing) -> dict[str, Any]:
    """Vega-Lite's JSON object of figures in one row, each with its own axes; one legend if their labels are the same.

    Args:
        title: Title above all figures.
        figures: The figures; their own titles are not shown.
    """
    specs = [figure.spec() for figure in figures]
    first = {name: value for name, value in specs[0].items() if name not in OWN}
    views = [{name: value for name, value in spec.items() if name in OWN} for spec in specs]
    scales = "shared" if all(figure.labels == figures[0].labels for figure in figures) else "independent"
    return first | {
        "title": {"text": title, "subtitle": list(dict.fromkeys(note for figure in figures for note in figure.notes))},
        "description": " ".join(spec["description"] for spec in specs),
        "hconcat": [_renamed(view, number) for number, view in enumerate(views)],
        "spacing": 30,
        "resolve": {"scale": dict.fromkeys(("color", "shape", "strokeDash"), scales)},
    }


def _renamed(view: dict[str, Any], number: int) -> dict[str, Any]:
    """A view whose selection has a name of its own, as Vega-Lite requires."""
    spec = re.sub(r'("(?:name|param)": "picked)"', rf'\1_{number}"', json.dumps(view["spec"]))
    return view | {"spec": json.loads(spec)}
