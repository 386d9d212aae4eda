"""The figures of a report: written as files, and taken into the page as drawings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from matplotlib.figure import Figure

from bfc_bench.report.style import FAINT, GRID, INK, Drawing, Styles, save

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
"""Colours of a drawing that are the page's own, which has a light and a dark face."""


@dataclass(frozen=True)
class Picture:
    """A figure in the page, and the stem of its files in ``figures/``."""

    title: str
    panels: Sequence[Markup]
    """Its drawings: one of each panel, or a single one of a figure that is not of panels."""
    width: float
    """Of one drawing in pixels, as it was drawn."""
    stem: str
    suffixes: Sequence[str]
    """Of its files."""
    styles: Styles = field(default_factory=dict)
    """The legend, by label."""
    notes: Sequence[str] = ()

    @property
    def svg(self) -> Markup:
        """All drawings."""
        return Markup("\n").join(self.panels)


@dataclass(frozen=True)
class Gallery:
    """Writes figures into ``directory/figures``, each under a name of its own."""

    directory: Path
    suffixes: Sequence[str] = ("png", "svg")
    """The files that are written of each; the page itself needs none."""
    book: PdfReport | None = None
    """Where each is a page, too."""
    _taken: set[str] = field(default_factory=set)

    def add(self, figure: Figure, title: str, stem: str, *, files: bool = True) -> Picture:
        """Give the drawing, and write the figure as ``files`` called ``stem``, what is unfit for that replaced."""
        plain = stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "figure"
        count = 1
        while stem.lower() in self._taken:
            count += 1
            stem = f"{plain}-{count}"
        self._taken.add(stem.lower())
        suffixes = self.suffixes if files else ()
        if self.book is not None and files:
            self.book.add(figure)
        svg = save(figure, self.directory / "figures", stem, suffixes)
        prefix = f"f{len(self._taken)}"
        if not isinstance(figure, Drawing) or not figure.axes:
            width = figure.get_figwidth() * 96
            return Picture(title, [inline_svg(svg, prefix, title)], width, stem, suffixes)
        panels = inline_panels(svg, prefix, figure.boxes(), [figure.said.get(panel, title) for panel in figure.axes])
        legend = {label: figure.styles[label] for label in figure.labels}
        width = figure.boxes()[0][2] * 96 / 72
        return Picture(title, panels, width, stem, suffixes, legend, figure.notes)


_START, _END = "%panel%", "%end%"


def inline_panels(
    text: str, prefix: str, boxes: Sequence[tuple[float, float, float, float]], titles: Sequence[str]
) -> list[Markup]:
    """Each panel of a matplotlib SVG file as an element of a page, in the page's colours.

    ``boxes`` are the panels' places in points, ``titles`` what they show in words. What is not in a panel is left out.
    """
    pattern = r'^  <g id="axes_\d+">\n(.*?)^  </g>$'
    marked = re.sub(pattern, rf"{_START}\n\1{_END}", text, flags=re.DOTALL | re.MULTILINE)
    drawn = inline_svg(marked, prefix, "")
    for colour, own in COLOURS.items():
        drawn = Markup(re.sub(rf"(?<=:){colour}(?=[;\"])", own, drawn))
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
    """A matplotlib SVG file as an element of a page.

    Ids start with ``prefix``, so that drawings in one page do not share any; prologue, metadata and style rules, which
    would name outside addresses or apply to the whole page, are left out. So are ids that nothing refers to, indents,
    digits of places beyond a hundredth of a point, styles that markers share, the font where all texts have the same
    one, turns by nothing, and groups that say nothing: two fifths of the text.
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
    text = _without_bare_groups(text)
    text = re.sub(r' style="[^"]*"', lambda style: style[0].replace("; ", ";").replace(": ", ":"), text)
    text = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{prefix}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", text)
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{escape(title)}"', 1) if title else text)


def _without_bare_groups(text: str) -> str:
    """Without groups that have neither an id nor a style: they change nothing of what they hold."""
    bare: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[1].endswith("/"):  # opened and closed at once
            return "" if tag[1] == "/" else tag[0]
        if tag[0][1] == "/":
            return "" if bare.pop() else tag[0]
        bare.append(tag[1] == "")
        return "" if bare[-1] else tag[0]

    return re.sub(r"</?g\b([^>]*)>\n?", kept, text)


def _shared_style(group: re.Match[str]) -> str:
    """A group of markers or lines with the style that they have in common at the group, from which they inherit it."""
    styles = set(re.findall(r' style="([^"]*)"', group[2]))
    if len(styles) != 1 or "style=" in group[1] or any(re.search(r"(^|; )opacity:", style) for style in styles):
        return group[0]  # the opacity of a group is not that of each of its members
    markers = re.sub(r' style="[^"]*"', "", group[2])
    return f'{group[1]} style="{styles.pop()}">\n{markers}</g>'
