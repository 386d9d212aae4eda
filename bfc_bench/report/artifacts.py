"""Artifacts of cells: pictures in the page as far as there is room, what else there is as files beside it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bfc_bench.utils.files import make_folder, write_file

ROOM = 1_500_000
"""Characters that pictures may take in the page."""


@dataclass(frozen=True)
class CellFiles:
    """The artifacts of one cell."""

    cell: str
    task: str
    label: str
    d: int
    n: int
    replicate: int
    files: Mapping[str, Path]
    """By name, where they are."""


@dataclass(frozen=True)
class Shown:
    """One artifact in the page."""

    name: str
    address: str
    """A ``data:`` address for what is in the page, else one beside it."""
    embedded: bool


@dataclass(frozen=True)
class ShownCell:
    """The artifacts of a cell in the page."""

    caption: str
    artifacts: tuple[Shown, ...]


def show(directory: Path, cells: Iterable[CellFiles]) -> dict[tuple[str, str], list[ShownCell]]:
    """By task and label, what the page in ``directory`` has of each cell: first replicates and largest n first.

    What has no room in it is copied to ``directory/artifacts``. Raises ``OutputError``.
    """
    shown: dict[tuple[str, str], list[ShownCell]] = {}
    left = ROOM
    for cell in sorted(cells, key=lambda cell: (cell.replicate, -cell.n, cell.d, cell.task, cell.label)):
        found = []
        for name, file in sorted(cell.files.items()):
            content = file.read_bytes()
            address = f"data:image/png;base64,{b64encode(content).decode()}" if name.endswith(".png") else ""
            if embedded := 0 < len(address) <= left:
                left -= len(address)
            else:
                address = _beside(directory, cell.cell, name, content)
            found.append(Shown(name, address, embedded))
        caption = f"d = {cell.d}, n = {cell.n:,}, replicate {cell.replicate}"
        shown.setdefault((cell.task, cell.label), []).append(ShownCell(caption, tuple(found)))
    return shown


def _beside(directory: Path, cell: str, name: str, content: bytes) -> str:
    """Copy a file to where the page finds it; its address from there."""
    place = directory / "artifacts" / cell
    make_folder(place)
    if not (file := place / name).exists() or file.read_bytes() != content:
        write_file(file, content)
    return quote(f"artifacts/{cell}/{name}")
