"""Artifacts of cells in a report: pictures in the page while there is room, other files beside it."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bfc_bench.store.row import Row
from bfc_bench.utils.files import inside, make_folder, write_file

ROOM = 1_500_000
"""Maximum number of characters of all pictures in the page."""


@dataclass(frozen=True)
class ShownCell:
    """The artifacts of a cell in the page."""

    caption: str
    addresses: Mapping[str, str]
    """By name: a ``data:`` address if the artifact is embedded, else the address of a file beside the page."""


def show(directory: Path, cells: Iterable[tuple[Row, Mapping[str, Path]]]) -> dict[tuple[str, str], list[ShownCell]]:
    """The artifacts of the page in ``directory`` by (task, label), first replicates and largest n first.

    Cells are rows with the paths that ``Store.artifacts`` gives, by name. Files that do not fit into the page are
    copied to ``directory/artifacts``. Raises ``OutputError``.
    """
    by_label: dict[tuple[str, str], list[ShownCell]] = {}
    room = ROOM
    for row, files in sorted(cells, key=lambda cell: _order(cell[0])):
        addresses = {}
        for name, file in sorted(files.items()):
            content = file.read_bytes()
            address = f"data:image/png;base64,{b64encode(content).decode()}" if name.endswith(".png") else ""
            if 0 < len(address) <= room:
                room -= len(address)
            else:
                address = _copied(directory, row.cell, name, content)
            addresses[name] = address
        caption = f"d = {row.d}, n = {row.n:,}, replicate {row.replicate}"
        by_label.setdefault((row.task, row.label), []).append(ShownCell(caption, addresses))
    return by_label


def _order(row: Row) -> tuple[int, int, int, str, str]:
    return row.replicate, -row.n, row.d, row.task, row.label


def _copied(directory: Path, cell: str, name: str, content: bytes) -> str:
    """Copy a file beside the page and return its address."""
    file = inside(directory, "artifacts", cell, name)
    make_folder(file.parent)
    if not file.exists() or file.read_bytes() != content:
        write_file(file, content)
    return quote(f"artifacts/{cell}/{name}")
