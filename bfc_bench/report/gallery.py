"""Writes the figures of a report as files, and prepares them for the page."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bfc_bench.errors import UsageError
from bfc_bench.report.drawing import Drawing
from bfc_bench.report.pictures import save
from bfc_bench.report.style import Styles
from bfc_bench.utils.files import inside, make_folder, write_file


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
    """Vega-Lite's JSON object for a script element, which the page draws; empty for a picture of Matplotlib."""
    image: str = ""
    """``data:`` address of a picture of Matplotlib."""
    styles: Styles = field(default_factory=dict)
    """The legend, by label."""
    notes: Sequence[str] = ()


class Gallery:
    """Writes figures into ``directory/figures`` under distinct names.

    Args:
        directory: Folder of the report.
        suffixes: Formats of the files; the page itself needs none.
    """

    def __init__(self, directory: Path, suffixes: Sequence[str] = ()) -> None:
        self.directory, self.suffixes = directory, tuple(suffixes)
        self._taken: set[str] = set()

    def add(self, figure: Drawing, title: str, stem: str) -> Picture:
        """Write a figure and return it for the page; characters of ``stem`` that are unsafe in names are replaced."""
        stem = self._distinct(stem)
        save(figure.spec(), inside(self.directory, "figures"), stem, self.suffixes)
        return Picture(
            title=title,
            stem=stem,
            description=" ".join(figure.descriptions) or title,
            suffixes=self.suffixes,
            spec=for_script(_for_page(figure)),
            styles={label: figure.styles[label] for label in figure.labels},
            notes=figure.notes,
        )

    def add_foreign(self, figure: Any, title: str, stem: str) -> Picture:
        """Write the figure of a plugin and return it for the page.

        ``figure`` is an object with ``to_dict``, such as a chart of Altair, or one with ``savefig``, such as a figure
        of Matplotlib. Raises ``UsageError`` for others.
        """
        stem = self._distinct(stem)
        if hasattr(figure, "to_dict"):
            spec = figure.to_dict()
            save(spec, inside(self.directory, "figures"), stem, self.suffixes)
            return Picture(title, stem, title, self.suffixes, for_script(spec))
        if not hasattr(figure, "savefig"):
            raise UsageError(
                f"The plot {title!r} of a plugin must give a chart of Altair or a figure of Matplotlib, not "
                f"{type(figure).__name__}."
            )
        written = [suffix for suffix in self.suffixes if suffix != "json"]
        drawn = {suffix: _saved(figure, suffix) for suffix in dict.fromkeys(["svg", *written])}
        folder = inside(self.directory, "figures")
        make_folder(folder)
        for suffix in written:
            write_file(inside(folder, f"{stem}.{suffix}"), drawn[suffix])
        # A script in a picture with such an address does not run, and its ids do not meet those of the page.
        address = f"data:image/svg+xml;base64,{b64encode(drawn['svg']).decode()}"
        return Picture(title, stem, title, written, image=address)

    def _distinct(self, stem: str) -> str:
        base = stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-.") or "figure"
        count = 1
        while stem.lower() in self._taken:
            count += 1
            stem = f"{base}-{count}"
        self._taken.add(stem.lower())
        return stem


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
