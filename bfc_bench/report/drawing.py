"""Figures of panels: records and the marks that show them, as one Vega-Lite chart for pages, pictures and papers."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfc_bench.report.axis import Axis
from bfc_bench.report.style import FAINT, GRID, INK, Styles, assign, in_order

if TYPE_CHECKING:
    import altair

WIDTHS = {1: 480, 2: 380}
"""Width of a panel in pixels, by the number of columns."""
WIDTH, HEIGHT = 300, 250
BESIDE = 62
"""Pixels beside a panel for its axis."""
SYMBOL, CHARACTER = 30, 6
"""Approximate pixels of a symbol in the legend with its gaps, and of a character there and in notes."""
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DIMMED = 0.1
"""Opacity of a label that a reader has not picked, as a fraction of its usual opacity."""
PICKED = {"and": [{"param": "picked"}, "length(only) == 0 || indexof(only, datum.label) >= 0"]}
"""Whether a record has a label that was clicked in the legend of a chart, and one that a page sets as ``only``."""
ARROW_UP, ARROW_DOWN = "M0,0V-2M-.6,-1.2L0,-2L.6,-1.2", "M0,0V2M-.6,1.2L0,2L.6,1.2"
UPRIGHT, CROSS = "M0,-1V1", "M-1,-1L1,1M-1,1L1,-1"
"""Markers without a surface, as SVG paths."""
NUMBER = (
    "datum.value == 0 ? '0' : abs(datum.value) < 1e-3 || abs(datum.value) >= 1e7 ? "
    "replace(format(datum.value, '.3~e'), '+', '') : "
    "format(datum.value, abs(datum.value) >= 1000 ? ',.0f' : '.3~g')"
)
"""The text of a tick: ``1,000``, ``0.05``, ``1e-7``."""
WORDS, COUNTS = ("label", "interval", "stage", "value"), ("n", "replicates", "failed")
"""Fields that are shown as they are, and those that are counts."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
CONFIG: dict[str, Any] = {
    "aria": False,
    "background": "#ffffff",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11.5, "titleFontWeight": "normal",
        "gridColor": GRID, "domainColor": FAINT, "tickColor": FAINT, "labelOverlap": "greedy", "labelSeparation": 5,
        "labelExpr": NUMBER,
    },
    "legend": {
        "orient": "bottom", "direction": "horizontal", "labelFontSize": 12, "labelColor": INK, "symbolSize": 60,
        "symbolStrokeWidth": 0, "labelLimit": 400, "symbolOpacity": 1,
    },
    "title": {
        "anchor": "start", "frame": "group", "color": INK, "fontSize": 14, "subtitleColor": "#666666",
        "subtitleFontSize": 11, "subtitlePadding": 4, "offset": 10,
    },
    "facet": {"spacing": 18},
    "header": {
        "title": None, "labelAnchor": "start", "labelFontWeight": "bold", "labelColor": INK, "labelFontSize": 12,
    },
}  # fmt: skip
Record = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """How the records of a part are shown in all panels of a figure."""

    look: Mapping[str, Any]
    """Vega-Lite's definition of the mark, with ``type``."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Fields by channel (``x``, ``y``, ``x2``, ``y2``) where they are not those of the axes; an empty text for none."""
    shape: bool = False
    """Whether each label has its own marker."""
    dash: bool = False
    """Whether each label has its own dashes."""
    opacity: float = 1.0
    tooltip: Mapping[str, str] = field(default_factory=dict)
    """Names of the fields to show under the pointer, by field."""
    order: str = ""
    """Field that orders the points of a line; the x axis if empty."""
    when: str = ""
    """Condition in Vega's language on the records that are shown; all if empty."""


class Drawing:
    """A figure of panels that share their axes.

    Marks are drawn in the order in which they are added. A record with a ``label`` has the colour of that label, and
    a reader can dim it by picking other labels.

    Args:
        panels: Titles of the panels, in their order.
        labels: Labels in the legend, which has them in the order of ``styles``.
        columns: Maximum number of panels per row.
        height: Height of a panel in pixels.
    """

    def __init__(
        self, x: Axis, y: Axis, panels: Iterable[str], labels: Iterable[str] = (), styles: Styles | None = None,
        *, columns: int = 3, height: int = HEIGHT,
    ) -> None:  # fmt: skip
        self.x, self.y, self.panels = x, y, list(panels) or [""]
        self.title = ""
        """Title above the panels; empty for none."""
        self.labels = in_order(labels, styles)
        self.styles = styles or assign(self.labels)
        self.columns, self.height = min(columns, len(self.panels)), height
        self.width = WIDTHS.get(self.columns, WIDTH)
        self.notes: list[str] = []
        """Texts that explain the figure."""
        self.records: list[Record] = []
        self.layers: list[dict[str, Any]] = []
        """The marks as Vega-Lite's layers."""

    def add(self, part: str, records: Iterable[Record], *marks: Mark) -> None:
        """Add records and the marks that show them; records that no mark has a place for are left out."""
        channels = [self._channels(mark) for mark in marks]
        axes = {name: axis for of_mark in channels for name, axis in of_mark.values()}
        placed = [{"part": part, **_placed(record, axes)} for record in records]
        names = [{name for name, _ in of_mark.values()} for of_mark in channels]
        complete = [record for record in placed if any(each <= record.keys() for each in names)]
        for mark, of_mark, each in zip(marks, channels, names, strict=True):
            if any(each <= record.keys() for record in complete):
                valid = [f"isValid(datum['{name}'])" for name in sorted(each)]
                when = " && ".join(filter(None, [f"datum.part === '{part}'", mark.when, *valid]))
                encoding = self._encoding(mark, of_mark, labelled="label" in complete[0])
                self.layers.append(
                    {"transform": [{"filter": when}], "mark": {"clip": True, **mark.look}, "encoding": encoding}
                )
        self.records += complete

    def _channels(self, mark: Mark) -> dict[str, tuple[str, Axis]]:
        """The field and the axis of each channel."""
        fields = {"x": self.x.field, "y": self.y.field, **mark.fields}
        return {name: (of, self.x if name.startswith("x") else self.y) for name, of in fields.items() if of}

    def _encoding(self, mark: Mark, channels: Mapping[str, tuple[str, Axis]], *, labelled: bool) -> dict[str, Any]:
        encoding: dict[str, Any] = {}
        for channel, (name, axis) in channels.items():
            encoding[channel] = {"field": name} | (_scale_and_axis(axis, channel) if len(channel) == 1 else {})
        if labelled:
            encoding |= self._of_labels(mark)
        elif mark.opacity < 1:
            encoding["opacity"] = {"value": mark.opacity}
        if mark.tooltip:
            encoding["tooltip"] = [_tooltip(name, title) for name, title in mark.tooltip.items()]
        if mark.order:
            encoding["order"] = {"field": mark.order, "type": "quantitative"}
        return encoding

    def _of_labels(self, mark: Mark) -> dict[str, Any]:
        """The channels that depend on the label."""
        styles = [self.styles[label] for label in self.labels]

        def channel(values: list[Any]) -> dict[str, Any]:
            scale = {"domain": self.labels, "range": values}
            return {"field": "label", "type": "nominal", "title": None, "scale": scale}

        encoding: dict[str, Any] = {"color": channel([style.colour for style in styles])}
        if mark.shape:
            encoding["shape"] = channel([style.shape for style in styles])
        if mark.dash:
            encoding["strokeDash"] = channel([list(style.dash) for style in styles])
        condition = {"test": PICKED, "value": mark.opacity}
        return encoding | {"opacity": {"value": mark.opacity * DIMMED, "condition": condition}}

    def spec(self) -> dict[str, Any]:
        """The figure as Vega-Lite's JSON object, with its data; a click in its legend dims the other labels."""
        first, *others = self.layers or [{"mark": "point"}]
        pick = {"name": "picked", "select": {"type": "point", "fields": ["label"]}, "bind": "legend"}
        characters = self.columns * (self.width + BESIDE) // CHARACTER
        lines = [line for note in self.notes for line in textwrap.wrap(note, characters)]
        return {
            "$schema": SCHEMA,
            **({"title": {"text": self.title, "subtitle": lines}} if self.title or lines else {}),
            "params": [{"name": "only", "value": []}],
            "data": {"values": self.records or [{"panel": panel} for panel in self.panels]},
            "facet": {"field": "panel", "type": "nominal", "sort": self.panels, "title": None},
            "columns": self.columns,
            "spec": {"width": self.width, "height": self.height, "layer": [first | {"params": [pick]}, *others]},
            "resolve": {"axis": {"x": "independent", "y": "independent"}},
            "config": CONFIG | {"legend": CONFIG["legend"] | {"columns": self._legend_columns()}},
        }

    def chart(self) -> altair.FacetChart:
        """The figure as an Altair chart."""
        import altair

        spec = self.spec()
        data = spec.pop("data")  # apart, since ``from_dict`` tries every record as all that data can be
        chart: altair.FacetChart = altair.FacetChart.from_dict({"data": {"values": []}, **spec}, validate=False)
        chart.data = altair.InlineData(**data)
        return chart

    def _legend_columns(self) -> int:
        """Columns with which the legend is about as wide as the panels; 0 for one row."""
        widest = SYMBOL + CHARACTER * max(map(len, self.labels), default=0)
        columns = max(1, self.columns * (self.width + BESIDE) // widest)
        return columns if columns < len(self.labels) else 0


def _placed(record: Record, axes: Mapping[str, Axis]) -> Record:
    """A record with numbers that JSON and its axes can hold, without those that have no place."""
    numbers = {name: axis.place(float(record[name])) for name, axis in axes.items() if name in record}
    return {name: _short(value) for name, value in {**record, **numbers}.items() if not _is_missing(value)}


def _scale_and_axis(axis: Axis, channel: str) -> dict[str, Any]:
    """The definitions of an axis in Vega-Lite."""
    scale: dict[str, Any] = {"type": "log" if axis.log else "linear", "domain": list(map(_short, axis.domain))}
    scale |= {"nice": False} | ({} if axis.log else {"zero": False})
    labels: dict[str, Any] = {"values": list(map(_short, axis.ticks))} if len(axis.ticks) else {}
    if axis.names:
        labels |= {"labelExpr": f"{json.dumps(axis.names)}[datum.value]", "labelOverlap": False, "labelLimit": 300}
        if channel == "x" and CHARACTER * sum(map(len, axis.names)) > WIDTH:
            labels |= {"labelAngle": -25}
    return {"type": "quantitative", "title": axis.title, "scale": scale, "axis": labels}


def _tooltip(name: str, title: str) -> dict[str, Any]:
    title = title.replace("\\", "\\\\")  # Vega-Lite escapes quotes alone when it writes titles into an expression
    if name in WORDS:
        return {"field": name, "type": "nominal", "title": title}
    return {"field": name, "type": "quantitative", "title": title, "format": "," if name in COUNTS else ".3~g"}


def _short(value: Any) -> Any:
    """A float with six digits, which a figure does not exceed; whole numbers as such; other values unchanged."""
    if not isinstance(value, float):
        return value
    return int(value) if value.is_integer() and abs(value) < 2**53 else float(f"{value:.6g}")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))
