"""Figures of panels: records and the marks that show them, as one Vega-Lite chart for pages, pictures and papers."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bfc_bench.report.axis import Axis
from bfc_bench.report.style import FAINT, GRID, INK, Styles

if TYPE_CHECKING:
    import altair

WIDTHS = {1: 480, 2: 380}
"""Width of a panel in pixels, by the number of columns."""
WIDTH, HEIGHT = 300, 250
BESIDE = 62
"""Pixels beside a panel for its axis."""
SYMBOL, CHARACTER = 30, 6
"""Approximate pixels of a symbol in the legend with its gaps, and of a character."""
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
DIMMED = 0.1
"""Opacity of a label that a reader has not picked, as a fraction of its usual opacity."""
PICKED = {"and": [{"param": "picked"}, "length(only) == 0 || indexof(only, datum.label) >= 0"]}
"""Whether a record has a label that was clicked in the legend of a chart, and one that a page sets as ``only``."""
ARROW_UP, ARROW_DOWN = "M0,0V-2M-.6,-1.2L0,-2L.6,-1.2", "M0,0V2M-.6,1.2L0,2L.6,1.2"
UPRIGHT, LEVEL, CROSS = "M0,-1V1", "M-1,0H1", "M-1,-1L1,1M-1,1L1,-1"
"""Markers without a surface, as SVG paths."""
NUMBER = (
    "datum.value == 0 ? '0' : abs(datum.value) < 1e-3 || abs(datum.value) >= 1e7 ? "
    "replace(format(datum.value, '.3~e'), '+', '') : "
    "format(datum.value, abs(datum.value) >= 1000 ? ',.0f' : '.3~g')"
)
"""The text of a tick: ``1,000``, ``0.05``, ``1e-7``."""
WORDS, COUNTS = ("label", "interval", "stage"), ("n", "replicates", "failed", "d")
"""Fields that are texts, and those that are counts."""
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
class Marks:
    """Marks of one kind in all panels of a figure."""

    part: str
    """Name of their records."""
    look: Mapping[str, Any]
    """Vega-Lite's definition of the mark, with ``type``."""
    channels: Mapping[str, str]
    """Fields by channel: ``x``, ``y``, ``x2``, ``y2``."""
    labelled: bool
    """Whether each record has a label, which gives its colour."""
    shape: bool = False
    """Whether each label has its own marker."""
    dash: bool = False
    """Whether each label has its own dashes."""
    opacity: float = 1.0
    tooltip: Mapping[str, str] = field(default_factory=dict)
    """Names of the fields to show under the pointer, by field."""
    text: str = ""
    """Field with the text of text marks."""
    order: str = ""
    """Field that orders the points of a line; the x axis if empty."""
    when: str = ""
    """Condition in Vega's language on the records that are shown; all if empty."""


class Drawing:
    """A figure of panels that share their axes.

    Marks are drawn in the order in which they are added. A record with a ``label`` has the colour of that label, and
    a reader can dim it by picking other labels.

    Args:
        x: The x axis.
        y: The y axis.
        panels: Titles of the panels, in their order.
        styles: Styles by label.
        title: Title above the panels.
        columns: Maximum number of panels per row.
        height: Height of a panel in pixels.
    """

    def __init__(
        self, x: Axis, y: Axis, panels: Sequence[str], styles: Styles, title: str = "",
        *, columns: int = 3, height: int = HEIGHT,
    ) -> None:  # fmt: skip
        self.x, self.y, self.panels, self.styles, self.title = x, y, list(panels) or [""], styles, title
        self.columns, self.height = max(1, min(columns, len(self.panels))), height
        self.width = WIDTHS.get(self.columns, WIDTH)
        self.labels: list[str] = []
        """Labels in the legend."""
        self.notes: list[str] = []
        """Texts that explain the figure."""
        self.descriptions: list[str] = []
        """The panels in words, for screen readers."""
        self.records: list[Record] = []
        self.marks: list[Marks] = []

    def add(
        self, part: str, look: Mapping[str, Any], records: Iterable[Record], *,
        fields: Mapping[str, str] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Add records and marks that show them; records that the marks have no place for are left out."""
        self.put(part, records, fields=fields)
        self.draw(part, look, fields=fields, **options)

    def put(self, part: str, records: Iterable[Record], *, fields: Mapping[str, str] | None = None) -> None:
        """Add records for ``draw``."""
        channels = self._channels(fields)
        self.records += [
            {"part": part, **kept} for record in records if (kept := self._kept(record, channels)) is not None
        ]

    def draw(
        self, part: str, look: Mapping[str, Any], *, fields: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        """Add marks for records that are in the figure already."""
        channels, records = self._channels(fields), [record for record in self.records if record["part"] == part]
        for record in records:
            record.update(self._placed(record, channels))
        shown = [record for record in records if all(name in record for name in channels.values())]
        if shown:
            lacking = list(channels.values()) if len(shown) < len(records) else []
            when = " && ".join([*filter(None, [options.pop("when", "")]), *(f"isValid(datum['{x}'])" for x in lacking)])
            self.marks.append(Marks(part, look, channels, "label" in shown[0], when=when, **options))

    def _channels(self, fields: Mapping[str, str] | None) -> dict[str, str]:
        channels = {"x": self.x.field, "y": self.y.field} | dict(fields or {})
        return {channel: name for channel, name in channels.items() if name}

    def _kept(self, record: Record, channels: Mapping[str, str]) -> Record | None:
        """A record with numbers that JSON can hold; None if its mark would have no place."""
        for channel, name in channels.items():
            axis, value = self.x if channel.startswith("x") else self.y, float(record.get(name, math.nan))
            if math.isnan(value) or (len(channel) == 1 and name == axis.field and not axis.holds(value)):
                return None
        full = {**record, **self._placed(record, channels)}
        return {key: _short(value) for key, value in full.items() if not _is_missing(value)}

    def _placed(self, record: Record, channels: Mapping[str, str]) -> Record:
        """The fields of channels with values that the axes can hold."""
        axes = {name: self.x if channel.startswith("x") else self.y for channel, name in channels.items()}
        return {name: _short(axis.within(float(record[name]))) for name, axis in axes.items() if name in record}

    def spec(self) -> dict[str, Any]:
        """The figure as Vega-Lite's JSON object, with its data; a click in its legend dims the other labels."""
        layers = [self._layer(marks) for marks in self.marks] or [{"mark": "point"}]
        layers[0]["params"] = [{"name": "picked", "select": {"type": "point", "fields": ["label"]}, "bind": "legend"}]
        lines = [line for note in self.notes for line in textwrap.wrap(note, self._characters())]
        return {
            "$schema": SCHEMA,
            **({"title": {"text": self.title, "subtitle": lines}} if self.title or lines else {}),
            "description": " ".join(self.descriptions),
            "params": [{"name": "only", "value": []}],
            "data": {"values": self.records or [{"panel": panel} for panel in self.panels]},
            "facet": {"field": "panel", "type": "nominal", "sort": self.panels, "title": None},
            "columns": self.columns,
            "spec": {"width": self.width, "height": self.height, "layer": layers},
            "resolve": {"axis": {"x": "independent", "y": "independent"}},
            "config": CONFIG | {"legend": CONFIG["legend"] | {"columns": self._legend_columns()}},
        }

    def chart(self) -> altair.FacetChart:
        """The figure as an Altair chart."""
        import altair

        chart: altair.FacetChart = altair.FacetChart.from_dict(self.spec(), validate=False)
        return chart

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        """The chart for notebooks."""
        return self.chart()._repr_mimebundle_(*args, **kwargs)

    def _characters(self) -> int:
        """Characters of a note per line."""
        return int(self.columns * (self.width + BESIDE) / 5.4)

    def _legend_columns(self) -> int:
        """Columns with which the legend is about as wide as the panels; 0 for one row."""
        widest = SYMBOL + CHARACTER * max(map(len, self.labels), default=0)
        columns = max(1, self.columns * (self.width + BESIDE) // widest)
        return columns if columns < len(self.labels) else 0

    def _layer(self, marks: Marks) -> dict[str, Any]:
        encoding: dict[str, Any] = {}
        for channel, name in marks.channels.items():
            axis = self.x if channel.startswith("x") else self.y
            encoding[channel] = {"field": name}
            if len(channel) == 1:
                encoding[channel] |= {"type": "quantitative", "title": axis.title} | _scale_and_axis(axis)
        if marks.labelled:
            encoding |= self._of_labels(marks)
        elif marks.opacity < 1:
            encoding["opacity"] = {"value": marks.opacity}
        if marks.tooltip:
            encoding["tooltip"] = [_tooltip(name, title) for name, title in marks.tooltip.items()]
        if marks.text:
            encoding["text"] = {"field": marks.text, "type": "nominal"}
        if marks.order:
            encoding["order"] = {"field": marks.order, "type": "quantitative"}
        when = " && ".join(filter(None, [f"datum.part === '{marks.part}'", marks.when]))
        return {"transform": [{"filter": when}], "mark": {"clip": True, **marks.look}, "encoding": encoding}

    def _of_labels(self, marks: Marks) -> dict[str, Any]:
        """The channels that depend on the label."""
        styles = [self.styles[label] for label in self.labels]

        def channel(values: Sequence[Any]) -> dict[str, Any]:
            scale = {"domain": self.labels, "range": list(values)}
            return {"field": "label", "type": "nominal", "title": None, "scale": scale}

        encoding: dict[str, Any] = {"color": channel([style.colour for style in styles])}
        if marks.shape:
            encoding["shape"] = channel([style.shape for style in styles])
        if marks.dash:
            encoding["strokeDash"] = channel([list(style.dash) for style in styles])
        condition = {"test": PICKED, "value": marks.opacity}
        return encoding | {"opacity": {"value": marks.opacity * DIMMED, "condition": condition}}


def _scale_and_axis(axis: Axis) -> dict[str, Any]:
    """The definitions of an axis in Vega-Lite."""
    scale: dict[str, Any] = {"type": "log" if axis.log else "linear", "domain": list(map(_short, axis.domain))}
    scale |= {"nice": False} | ({} if axis.log else {"zero": False})
    shown: dict[str, Any] = {"values": list(map(_short, axis.ticks))} if len(axis.ticks) else {}
    if axis.names:
        shown |= {"labelExpr": f"{json.dumps(axis.names)}[datum.value]", "labelOverlap": False, "labelLimit": 300}
    return {"scale": scale, "axis": shown}


def _tooltip(name: str, title: str) -> dict[str, Any]:
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
