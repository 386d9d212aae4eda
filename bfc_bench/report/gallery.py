"""Writes the figures of a report as files, and prepares them for the page."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from bfc_bench.errors import UsageError
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.pictures import picture, save
from bfc_bench.report.style import Styles
from bfc_bench.utils.files import inside, make_folder, write_file

if TYPE_CHECKING:
    from bfc_bench.report.pdf import PdfReport

ROOM = 500_000
"""Maximum number of characters of all pictures that a page holds for readers without scripts."""


@dataclass(frozen=True)
class Picture:
    """A figure as the page shows it."""

    title: str
    stem: str
    """Stem of its files in ``figures/``, and its anchor in the page."""
    description: str
    """The figure in words."""
    suffixes: Sequence[str] = ()
    """Suffixes of its files."""
    spec: str = ""
    """Vega-Lite's JSON object for a script element; empty for a picture that a script does not draw."""
    image: str = ""
    """``data:`` address of the picture, for readers without scripts; empty if the page has no room left."""
    styles: Styles = field(default_factory=dict)
    """The legend, by label."""
    notes: Sequence[str] = ()


class Gallery:
    """Writes figures into ``directory/figures`` under distinct names.

    Args:
        directory: Folder of the report.
        suffixes: Formats of the files; the page itself needs none.
        pdf: A PDF report to which each figure is added.
    """

    def __init__(self, directory: Path, suffixes: Sequence[str] = (), pdf: PdfReport | None = None) -> None:
        self.directory, self.suffixes, self.pdf = directory, tuple(suffixes), pdf
        self._taken: set[str] = set()
        self._room = ROOM

    def add(self, figure: Drawing, title: str, stem: str, *, always: bool = False) -> Picture:
        """Write a figure and return it for the page.

        Args:
            figure: The figure.
            title: Title in the page.
            stem: Stem of the files; characters that are unsafe in file names are replaced.
            always: Whether readers without scripts see it even if the page has no room left.
        """
        stem, spec = self._distinct(stem), figure.spec()
        if self.pdf is not None:
            self.pdf.add(picture(spec, "pdf"))
        self._save(spec, stem)
        return Picture(
            title=title,
            stem=stem,
            description=" ".join(figure.descriptions) or title,
            suffixes=self.suffixes,
            spec=for_script(_for_page(figure)),
            image=_address(picture(spec, "svg")) if always else self._image(spec),
            styles={label: figure.styles[label] for label in figure.labels},
            notes=figure.notes,
        )

    def add_foreign(self, figure: Any, title: str, stem: str) -> Picture:
        """Write the figure of a plugin and return it for the page.

        Args:
            figure: A ``Drawing``; an object with ``to_dict``, such as a chart of Altair; or one with ``savefig``, such
                as a figure of Matplotlib.
            title: Title in the page.
            stem: Stem of the files.

        Raises:
            UsageError: It is none of these.
        """
        if isinstance(figure, Drawing):
            return self.add(figure, title, stem)
        stem = self._distinct(stem)
        if hasattr(figure, "to_dict"):
            spec = figure.to_dict()
            if self.pdf is not None:
                self.pdf.add(picture(spec, "pdf"))
            self._save(spec, stem)
            return Picture(title, stem, title, self.suffixes, for_script(spec), self._image(spec))
        if not hasattr(figure, "savefig"):
            raise UsageError(
                f"The plot {title!r} of a plugin must give a chart of Altair or a figure of Matplotlib, not "
                f"{type(figure).__name__}."
            )
        written = [suffix for suffix in self.suffixes if suffix != "json"]
        drawn = {suffix: _saved(figure, suffix) for suffix in dict.fromkeys(["svg", *written])}
        if self.pdf is not None:
            self.pdf.add(_saved(figure, "pdf"))
        folder = inside(self.directory, "figures")
        make_folder(folder)
        for suffix in written:
            write_file(inside(folder, f"{stem}.{suffix}"), drawn[suffix])
        return Picture(title, stem, title, written, image=_address(drawn["svg"]))

    def _distinct(self, stem: str) -> str:
        base = stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "figure"
        count = 1
        while stem.lower() in self._taken:
            count += 1
            stem = f"{base}-{count}"
        self._taken.add(stem.lower())
        return stem

    def _save(self, spec: dict[str, Any], stem: str) -> None:
        save(spec, inside(self.directory, "figures"), stem, self.suffixes)

    def _image(self, spec: dict[str, Any]) -> str:
        """The address of the figure as SVG, empty if the page has no room for it; later figures are not drawn then."""
        if self._room > 0:
            address = _address(picture(spec, "svg"))
            self._room -= len(address)
            if self._room >= 0:
                return address
        return ""


def _address(svg: bytes) -> str:
    """A ``data:`` address of a picture. A script in it does not run, and its ids do not meet those of the page."""
    return f"data:image/svg+xml;base64,{b64encode(svg).decode()}"


def _for_page(figure: Drawing) -> dict[str, Any]:
    """The specification for a page, which says in its own text what the title and the notes say."""
    spec = {name: value for name, value in figure.spec().items() if name not in ("$schema", "title", "description")}
    return spec | {"data": {"groups": _grouped(figure.records)}}


CONSTANT = ("part", "panel", "label")
"""Fields whose values many records of a figure share."""


def _grouped(records: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Records as ``[shared fields, names of the others, their values]``, a fourth of the size, for ``page.js``."""
    groups: dict[tuple[Any, ...], list[list[Any]]] = {}
    for record in records:
        shared = tuple((name, record[name]) for name in CONSTANT if name in record)
        names = tuple(name for name in record if name not in CONSTANT)
        groups.setdefault((shared, names), []).append([record[name] for name in names])
    return [[dict(shared), list(names), values] for (shared, names), values in groups.items()]


def for_script(spec: Mapping[str, Any]) -> Markup:
    """A JSON object for a script element, which no text in it can end."""
    text = json.dumps(spec, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def _saved(figure: Any, suffix: str) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format=suffix, metadata={"Date": None} if suffix == "svg" else None)
    return stream.getvalue()
