"""Styles, layout, logarithmic axes and files of all figures.

Figures use matplotlib's ``Figure`` alone: no pyplot, no window and no global settings.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from matplotlib.transforms import Affine2D

from bfc_bench.utils.files import inside, make_folder, write_file

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9", "#888888")
"""Okabe and Ito's colours for colour-blind readers, with grey instead of yellow, which is invisible on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (1.5, 1.2)), (0, (10, 2)))
INK, FAINT, GRID = "#333333", "#9a9a9a", "#e4e4e4"
TITLE = 11.5
"""Points."""
DPI = 150
PAD = 0.08
"""Inches around each panel with the texts at its axes."""
FEW = 3
"""A figure with at most so many panels has minor ticks; with more they are too small."""

Styles: TypeAlias = Mapping[str, "Style"]


@dataclass(frozen=True)
class Style:
    """How one label is drawn in all figures of a report."""

    colour: str
    marker: str
    line: Any

    def handle(self, label: str) -> Line2D:
        """The label's entry in a legend."""
        return Line2D([], [], color=self.colour, marker=self.marker, linestyle=self.line, markersize=5, label=label)

    @property
    def css(self) -> str:
        """The colour in a page, which may have a dark background."""
        return {"#000000": "var(--ink)", "#0072B2": "var(--blue)"}.get(self.colour, self.colour)

    @property
    def outline(self) -> str:
        """The marker as an SVG path, in a square from -5 to 5."""
        shape = MarkerStyle(self.marker)
        path = shape.get_path().transformed(shape.get_transform() + Affine2D().scale(10, -10))
        polygons = [np.asarray(polygon) for polygon in path.to_polygons()]
        return " ".join("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in polygon) + "Z" for polygon in polygons)


def assign(labels: Iterable[str]) -> dict[str, Style]:
    """One style per distinct label, in order; 88 pairs of colour and marker before one repeats."""
    cycle = zip(itertools.cycle(PALETTE), itertools.cycle(MARKERS), itertools.cycle(LINES), strict=False)
    return {label: Style(*style) for label, style in zip(dict.fromkeys(labels), cycle, strict=False)}


class Drawing(Figure):
    """A figure of panels; a page shows each panel as a separate SVG, with legend and notes as text."""

    labels: Sequence[str] = ()
    """Labels in the legend."""
    styles: Styles = {}
    notes: Sequence[str] = ()
    """Texts that explain the figure."""
    around: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    """Inches left of, below, right of and above each panel, after the layout."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.descriptions: dict[Axes, str] = {}
        """Description of each panel for screen readers."""

    def _repr_svg_(self) -> str:
        """The SVG for notebooks."""
        lay_out(self)
        return _drawn(self, "svg").decode()

    def boxes(self) -> list[tuple[float, float, float, float]]:
        """x, y, width and height of each panel with the texts around it, in points from the top left corner."""
        left, bottom, right, top = self.around
        width, height = self.get_size_inches()
        boxes = []
        for panel in self.axes:
            box = panel.get_position()
            wide, high = box.width * width + left + right, box.height * height + bottom + top
            x, y = box.x0 * width - left, (1 - box.y1) * height - top
            boxes.append((72 * x, 72 * y, 72 * wide, 72 * high))
        return boxes


class PanelLayout(LayoutEngine):
    """Layout of the panels of ``grid``, which share their axes, so that measuring two of them is enough.

    Matplotlib's constrained layout measures every panel several times, which is slow for many panels.
    """

    _adjust_compatible = True
    _colorbar_gridspec = False

    def execute(self, fig: Figure) -> None:
        """Place the panels between the title above and the legend below."""
        spec = fig.axes[0].get_subplotspec()
        if spec is None:
            return
        (lines, columns), (width, height) = spec.get_gridspec().get_geometry(), fig.get_size_inches()
        below = sum(legend.get_window_extent().height for legend in fig.legends) / fig.dpi + PAD
        above = PAD + 1.2 * TITLE / 72 if fig.get_suptitle() else 0.0
        left, bottom, right, top = _around(fig.axes[0])
        inner = _around(fig.axes[1])[0] if columns > 1 and len(fig.axes) > 1 else 0.0
        across, up = inner + right, bottom + top
        if isinstance(fig, Drawing):
            fig.around = left, bottom, right, top
        free_width = width - left - right - (columns - 1) * across
        free_height = height - above - below - lines * up
        fig.subplots_adjust(
            left=left / width,
            right=1 - right / width,
            bottom=(below + bottom) / height,
            top=1 - (above + top) / height,
            wspace=across / (free_width / columns),
            hspace=up / (free_height / lines),
        )


def _around(panel: Axes) -> tuple[float, float, float, float]:
    """Inches of the texts left of, below, right of and above a panel, with ``PAD``."""
    box, dpi = panel.get_window_extent(), panel.figure.dpi
    tight = panel.get_tightbbox(for_layout_only=True) or box
    beyond = (box.x0 - tight.x0, box.y0 - tight.y0, tight.x1 - box.x1, tight.y1 - box.y1)
    left, bottom, right, top = (max(side, 0.0) / dpi + PAD for side in beyond)
    return left, bottom, right, top


def grid(
    count: int, columns: int, *, width: float | None = None, height: float = 3.4, share_y: bool = True
) -> tuple[Drawing, list[Axes]]:
    """Make a figure of panels that share their axes.

    Args:
        count: Number of panels.
        columns: Panels per row.
        width: Width of a panel in inches.
        height: Height of a panel in inches.
        share_y: Whether they share the y axis too.

    Returns:
        The figure and its panels.
    """
    rows = max(1, math.ceil(count / columns))
    width = width or {1: 4.0, 2: 4.0}.get(columns, 3.5)
    figure = Drawing(figsize=(width * columns + 0.4, height * rows + 0.3), layout=PanelLayout())
    panels = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False).ravel().tolist()
    for spare in panels[count:]:
        spare.remove()
    for axes in panels[:count]:
        # A page may show a panel alone, so each needs its tick labels.
        axes.tick_params(which="both", labelbottom=True, labelleft=True, labelsize=9, color=FAINT, labelcolor=INK)
        axes.tick_params(which="minor", labelbottom=False, labelleft=False)  # laying out empty texts is slow
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(FAINT)
        axes.grid(which="major", color=GRID, linewidth=0.7)
        axes.set_axisbelow(True)
    return figure, panels[:count]


def add_title_and_legend(
    figure: Drawing, title: str, labels: Sequence[str], styles: Styles, notes: Sequence[str]
) -> None:
    """Add a title above a figure, and notes and a legend below it; the figure grows in height.

    Args:
        figure: The figure.
        title: The title.
        labels: Labels of the legend.
        styles: Styles by label.
        notes: Texts that explain the figure.
    """
    figure.labels, figure.styles, figure.notes = list(labels), styles, list(notes)
    width = figure.get_figwidth()
    columns = _legend_columns(labels, width - 0.2)
    lines = [line for note in notes for line in textwrap.wrap(note, int((width - 0.3) / 0.064))]
    figure.set_figheight(figure.get_figheight() + 0.15 * len(lines) + 0.2 * math.ceil(len(labels) / columns) + 0.15)
    above = 1 - PAD / figure.get_figheight()
    figure.suptitle(title, x=0.1 / width, y=above, ha="left", fontsize=TITLE, fontweight="bold", color=INK)
    legend = figure.legend(
        handles=[styles[label].handle(label) for label in labels],
        loc="lower left",
        ncols=columns,
        title="\n".join(lines),
        alignment="left",
        frameon=False,
        fontsize=9.5,
        title_fontsize=8.5,
        handlelength=2.8,
        labelcolor=INK,
        borderaxespad=0.2,
    )
    legend.get_title().set_color("#666666")


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """The largest number of columns that fit into ``width`` inches; entries fill one column after the other."""
    for columns in range(len(labels), 1, -1):
        longest = [max(len(label) for label in part) for part in np.array_split(labels, columns)]
        if sum(0.76 + 0.08 * length for length in longest) <= width:
            return columns
    return 1


def log_ticks(lo: float, hi: float, most: int) -> list[float]:
    """The densest series of round numbers in an interval, with decades left out if needed.

    Args:
        lo: Lower end of the interval.
        hi: Upper end of the interval.
        most: Approximate maximum number of ticks.
    """
    first, last = math.floor(math.log10(lo)), math.ceil(math.log10(hi))
    for mantissas in ((1, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5, 7), (1, 2, 5), (1,)):
        ticks = [m * 10.0**e for e in range(first, last + 1) for m in mantissas if lo <= m * 10.0**e <= hi]
        if len(ticks) <= most:
            return ticks
    stride = math.ceil((last - first) / most)
    return [10.0**e for e in range(first, last + 1) if e % stride == 0 and lo <= 10.0**e <= hi]


def spaced_ticks(values: Sequence[float], share: float = 0.17) -> list[float]:
    """The first, the last and those of the ascending ``values`` that are a ``share`` of their log range apart."""
    if len(values) < 3:
        return list(values)
    kept, gap = [values[0]], share * math.log(values[-1] / values[0])
    for value in values[1:-1]:
        if min(math.log(value / kept[-1]), math.log(values[-1] / value)) >= gap:
            kept.append(value)
    return [*kept, values[-1]]


SMALLEST, LARGEST = 1e-140, 1e140
"""Between these, margins and the ratio of two values are numbers too."""


def log_axis(
    axis: Axis, values: Iterable[float], *, most: int = 8, at: Sequence[float] = (), pad: float = 0.06
) -> None:
    """Make an axis logarithmic and fit it to values.

    Args:
        axis: The axis.
        values: Values to show; nan and those outside ``SMALLEST`` to ``LARGEST`` are ignored.
        most: Approximate maximum number of ticks.
        at: Positions of ticks if they are far enough apart; else ticks are at round numbers.
        pad: Margin as a fraction of the log range.
    """
    shown = [v for v in values if SMALLEST < v < LARGEST] or [0.1, 1.0]
    lo, hi = min(shown), max(shown)
    margin = (hi / lo) ** pad if hi > lo * 1.01 else 1.6
    lo, hi = lo / margin, hi * margin
    name = "x" if isinstance(axis, XAxis) else "y"
    getattr(axis.axes, f"set_{name}scale")("log")
    getattr(axis.axes, f"set_{name}lim")(lo, hi)
    wanted = np.log(sorted(set(at)))
    spaced = len(wanted) > 0 and (len(wanted) == 1 or np.diff(wanted).min() > 0.13 * math.log(hi / lo))
    ticks = sorted(set(at)) if spaced else log_ticks(lo, hi, most)
    decades = range(math.floor(math.log10(lo)), math.ceil(math.log10(hi)) + 1)
    axis.set_major_locator(FixedLocator(ticks))
    minor = hi / lo < 1e5 and len(axis.axes.figure.axes) <= FEW
    axis.set_minor_locator(FixedLocator([m * 10.0**e for e in decades for m in range(1, 10)] if minor else []))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value, plain=lo > 1e-3 and hi < 1e7)))
    axis.set_minor_formatter(NullFormatter())


def tick_text(value: float, plain: bool = True) -> str:
    """``200``, ``1,000``, ``0.05`` if ``plain``, else ``10⁻⁷`` and ``2·10⁻⁷``."""
    if plain:
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    mantissa = round(value / 10.0**exponent)
    power = "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if mantissa == 1 else f"{mantissa}·{power}"


def lay_out(figure: Figure) -> None:
    """Run the layout engine once at the resolution of PNG files and remove it; else each file would run it again."""
    engine, dpi = figure.get_layout_engine(), figure.dpi
    if engine is not None:
        figure.dpi = DPI
        engine.execute(figure)
        figure.dpi = dpi
        figure.set_layout_engine(None)


FORMATS = ("svg", "png", "pdf")


def save(figure: Figure, directory: Path, stem: str, suffixes: Sequence[str] = ("svg", "png")) -> str:
    """Write a figure as files and return it as SVG, with text as text.

    Equal figures give equal files. PNG files have 150 dots per inch, PDF files embed their fonts.

    Args:
        figure: The figure.
        directory: Folder to write to.
        stem: Stem of the files.
        suffixes: Formats to write; files of the other ``FORMATS`` with this stem are removed.
    """
    make_folder(directory)
    lay_out(figure)
    png: dict[str, Any] = {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 2}}  # faster, 5 % larger
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": stem, "pdf.fonttype": 42}):
        drawn = {"svg": _drawn(figure, "svg", metadata={"Date": None})}
        if "png" in suffixes:
            drawn["png"] = _drawn(figure, "png", dpi=DPI, **png)
        if "pdf" in suffixes:
            drawn["pdf"] = _drawn(figure, "pdf", metadata={"CreationDate": None})
    for suffix in FORMATS:
        path = inside(directory, f"{stem}.{suffix}")
        if suffix in suffixes:
            write_file(path, drawn[suffix])
        else:
            path.unlink(missing_ok=True)
    return drawn["svg"].decode()


def _drawn(figure: Figure, suffix: str, **options: Any) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format=suffix, facecolor="white", **options)
    return stream.getvalue()
