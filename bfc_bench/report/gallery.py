"""Writes the figures of a report as files and as SVG elements of the page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from matplotlib.figure import Figure

from bfc_bench.report.style import FAINT, GRID, INK, Drawing, Styles, save
from bfc_bench.utils.files import inside

if TYPE_CHECKING:
    from bfc_bench.report.pdf import PdfReport

COLOURS = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    GRID: "var(--grid)",
    "#000000": "var(--ink)",
    "#0072b2": "var(--blue)",
    "#ffffff": "var(--card)",
    "white": "var(--card)",
}
"""Colours of a figure that become the page's own, which has a light and a dark theme."""


@dataclass(frozen=True)
class Picture:
    """A figure as the page shows it."""

    title: str
    panels: Sequence[Markup]
    """SVG elements: one per panel, or one for a figure without panels."""
    width: float
    """Width of one SVG element in pixels."""
    stem: str
    """Stem of its files in ``figures/``."""
    suffixes: Sequence[str]
    """Suffixes of its files."""
    styles: Styles = field(default_factory=dict)
    """The legend, by label."""
    notes: Sequence[str] = ()

    @property
    def svg(self) -> Markup:
        """All SVG elements."""
        return Markup("\n").join(self.panels)


@dataclass(frozen=True)
class Gallery:
    """Writes figures into ``directory/figures`` under distinct names."""

    directory: Path
    suffixes: Sequence[str] = ("png", "svg")
    """Formats of the files; the page itself needs none."""
    pdf: PdfReport | None = None
    """A PDF report to which each figure is added."""
    _taken: set[str] = field(default_factory=set)

    def add(self, figure: Figure, title: str, stem: str, *, files: bool = True) -> Picture:
        """Write a figure and return it for the page.

        Args:
            figure: The figure, not laid out yet.
            title: Title in the page.
            stem: Stem of the files; characters that are unsafe in file names are replaced.
            files: Whether to write files.
        """
        base = stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "figure"
        count = 1
        while stem.lower() in self._taken:
            count += 1
            stem = f"{base}-{count}"
        self._taken.add(stem.lower())
        suffixes = self.suffixes if files else ()
        if self.pdf is not None and files:
            self.pdf.add(figure)
        svg = save(figure, inside(self.directory, "figures"), stem, suffixes)
        prefix = f"f{len(self._taken)}"
        if not isinstance(figure, Drawing) or not figure.axes:
            width = figure.get_figwidth() * 96
            return Picture(title, [inline_svg(svg, prefix, title)], width, stem, suffixes)
        panels = inline_panels(
            svg, prefix, figure.boxes(), [figure.descriptions.get(panel, title) for panel in figure.axes]
        )
        legend = {label: figure.styles[label] for label in figure.labels}
        width = figure.boxes()[0][2] * 96 / 72
        return Picture(title, panels, width, stem, suffixes, legend, figure.notes)


_START, _END = "%panel%", "%end%"


def inline_panels(
    text: str, prefix: str, boxes: Sequence[tuple[float, float, float, float]], titles: Sequence[str]
) -> list[Markup]:
    """Each panel of a matplotlib SVG file as an SVG element in the page's colours; the rest is left out.

    Args:
        text: The SVG file.
        prefix: Start of all ids, unique in the page.
        boxes: x, y, width and height of each panel in points.
        titles: Description of each panel in words.
    """
    pattern = r'^  <g id="axes_\d+">\n(.*?)^  </g>$'
    marked = re.sub(pattern, rf"{_START}\n\1{_END}", text, flags=re.DOTALL | re.MULTILINE)
    drawn = inline_svg(marked, prefix, "")
    for colour, page_colour in COLOURS.items():
        drawn = Markup(re.sub(rf"(?<=:){colour}(?=[;\"])", page_colour, drawn))
    font = re.search(r'<svg style="([^"]*)"', drawn)
    shared = "".join(re.findall(r"<clipPath.*?</clipPath>", drawn, flags=re.DOTALL))
    elements: list[Markup] = []
    for body, box, title in zip(
        re.findall(rf"{_START}(.*?){_END}", drawn, flags=re.DOTALL), boxes, titles, strict=True
    ):
        place, style = " ".join(f"{value:.1f}" for value in box), f"fill:var(--ink);{font[1] if font else ''}"
        defs = f"<defs>{shared}</defs>" if not elements else ""
        start = f'<svg viewBox="{place}" role="img" aria-label="{escape(title)}" style="{style}">'
        elements.append(Markup(f"{start}{defs}{body}</svg>"))
    return elements


def inline_svg(text: str, prefix: str, title: str) -> Markup:
    """A matplotlib SVG file as an SVG element of a page.

    Prologue, metadata and style rules are removed, because they name outside addresses or apply to the whole page.
    Unused ids, indents, digits beyond a hundredth of a point, repeated styles and fonts, rotations by 0 and groups
    without effect are removed too, two fifths of the text.

    Args:
        text: The SVG file.
        prefix: Start of all ids, unique in the page.
        title: Description for screen readers; empty for none.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    used = set(re.findall(r"#([^\s\")]+)", text))
    text = re.sub(r'\s\bid="([^"]+)"', lambda id: f' id="{prefix}-{id[1]}"' if id[1] in used else "", text)
    text = re.sub(r'\s(d|x|y)="[^"]*"', lambda place: re.sub(r"(\.\d\d)\d+", r"\1", place[0]), text)
    text = re.sub(r"\n\s*", "\n", text)
    text = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", text)
    text = re.sub(r'(?<= d=")[^"]*', lambda path: re.sub(r"\s*([A-Za-z])\s*", r"\1", path[0]).strip(), text)
    fonts = set(re.findall(r" font-family: [^;\"]*;", text))
    if len(fonts) == 1:
        text = text.replace(font := fonts.pop(), "").replace("<svg", f'<svg style="{font[1:]}"', 1)
    text = re.sub(r"(<g[^>]*)>\n((?:<(?:use|path) [^>]*/>\n)+)</g>", _shared_style, text)
    text = _without_plain_groups(text)
    text = re.sub(r' style="[^"]*"', lambda style: style[0].replace("; ", ";").replace(": ", ":"), text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1) if title else text)


def _without_plain_groups(text: str) -> str:
    """Remove groups without attributes, which have no effect."""
    plain: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[1].endswith("/"):  # an empty element
            return "" if tag[1] == "/" else tag[0]
        if tag[0][1] == "/":
            return "" if plain.pop() else tag[0]
        plain.append(tag[1] == "")
        return "" if plain[-1] else tag[0]

    return re.sub(r"</?g\b([^>]*)>\n?", kept, text)


def _shared_style(group: re.Match[str]) -> str:
    """Move the style that all markers or lines of a group share to the group."""
    styles = set(re.findall(r' style="([^"]*)"', group[2]))
    if len(styles) != 1 or "style=" in group[1] or any(re.search(r"(^|; )opacity:", style) for style in styles):
        return group[0]  # opacity of a group differs from opacity of its members
    markers = re.sub(r' style="[^"]*"', "", group[2])
    return f'{group[1]} style="{styles.pop()}">\n{markers}</g>'
