"""Colours, shapes and dashes of the learners in all figures and tables of a report."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#888888")
"""Okabe and Ito's colours for colour-blind readers, with grey instead of yellow, which is invisible on white."""
SHAPES = (
    "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z",
    "M-.9,-.9H.9V.9H-.9Z",
    "M0,-1L1,.8H-1Z",
    "M0,-1.1L1.1,0L0,1.1L-1.1,0Z",
    "M0,1L1,-.8H-1Z",
    "M-.35,-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
    "M-.95,-.55L-.55,-.95L0,-.4L.55,-.95L.95,-.55L.4,0L.95,.55L.55,.95L0,.4L-.55,.95L-.95,.55L-.4,0Z",
    "M-1,0L.8,1V-1Z",
    "M1,0L-.8,1V-1Z",
    "M0,-1L.95,-.31L.59,.81H-.59L-.95,-.31Z",
    "M0,-1L.87,-.5V.5L0,1L-.87,.5V-.5Z",
)
"""Markers as SVG paths in a square from -1 to 1."""
DASHES = ((1, 0), (6, 2), (8, 2, 2, 2), (2, 2), (12, 3))
"""Lengths of the dashes of a line and of the gaps between them, in pixels."""
INK, FAINT, GRID = "#333333", "#9a9a9a", "#e4e4e4"

Styles: TypeAlias = Mapping[str, "Style"]


@dataclass(frozen=True)
class Style:
    """How one label is drawn in all figures of a report."""

    colour: str
    shape: str
    """The marker as an SVG path in a square from -1 to 1."""
    dash: tuple[int, ...]

    @property
    def css(self) -> str:
        """The colour in a page, which may have a dark background."""
        return {"#000000": "var(--ink)", "#0072B2": "var(--blue)"}.get(self.colour, self.colour)


def assign(labels: Iterable[str], plots: Iterable[Collection[str]] = ()) -> dict[str, Style]:
    """One style per distinct label; labels of one plot have different colours while there are any left."""
    distinct = list(dict.fromkeys(labels))
    together = [set(plot) for plot in plots] or [set(distinct)]
    styles: dict[str, Style] = {}
    for index, label in enumerate(distinct):
        used = Counter(styles[x].colour for plot in together if label in plot for x in plot & styles.keys())
        colour = min(PALETTE, key=lambda colour: used[colour])
        styles[label] = Style(colour, SHAPES[index % len(SHAPES)], DASHES[index % len(DASHES)])
    return styles


def in_order(labels: Iterable[str], styles: Styles | None) -> list[str]:
    """Distinct labels in the order of ``styles`` if given."""
    distinct = list(dict.fromkeys(labels))
    return [label for label in styles if label in distinct] if styles else distinct
