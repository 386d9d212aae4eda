"""Prepares figures for the page of a report."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bfc_bench.report.drawing import Drawing
from bfc_bench.report.style import Styles

CONSTANT = ("part", "panel", "label")
"""Fields whose values many records of a figure share."""


@dataclass(frozen=True)
class PageFigure:
    """A figure as the page shows it."""

    title: str
    anchor: str
    """Its anchor in the page, without ``figure-``."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """Vega-Lite's JSON object, which the page draws; empty for a picture of Matplotlib."""
    image: str = ""
    """``data:`` address of a picture of Matplotlib."""
    styles: Styles = field(default_factory=dict)
    """The legend, by label."""
    notes: Sequence[str] = ()


def for_page(figure: Drawing, title: str, anchor: str) -> PageFigure:
    """A figure for the page, which says in its own text what the title and the notes of the figure say."""
    spec = {name: value for name, value in figure.spec().items() if name not in ("$schema", "title")}
    spec |= {"data": {"groups": _grouped(figure.records)}}
    styles = {label: figure.styles[label] for label in figure.labels}
    return PageFigure(title, anchor, spec, styles=styles, notes=figure.notes)


def of_plugin(drawn: Mapping[str, Any] | bytes, name: str) -> PageFigure:
    """The figure of a plugin, Vega-Lite's JSON object or an SVG, for the page."""
    anchor = "plot-" + re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    if not isinstance(drawn, bytes):
        return PageFigure(name, anchor, drawn)
    # A script in a picture with such an address does not run, and its ids do not meet those of the page.
    return PageFigure(name, anchor, image=f"data:image/svg+xml;base64,{b64encode(drawn).decode()}")


def _grouped(records: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Records as ``[shared fields, names of the others, their values]``, a fourth of the size, for ``page.js``."""
    groups: dict[tuple[Any, ...], list[list[Any]]] = {}
    for record in records:
        shared = tuple((name, record[name]) for name in CONSTANT if name in record)
        names = tuple(name for name in record if name not in CONSTANT)
        groups.setdefault((shared, names), []).append([record[name] for name in names])
    return [[dict(shared), list(names), values] for (shared, names), values in groups.items()]
