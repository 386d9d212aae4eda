"""Artifacts of cells in a report: pictures in the page while there is room, other files beside it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bfc_bench.utils.files import inside, make_folder, write_file

ENDINGS = (".png", ".npz", ".csv", ".json")
"""Endings of the files that learners may give; a page with another one, such as HTML, could run a script."""
_CELL = re.compile("[0-9a-f]{16}")
"""Identities of cells, which name folders."""
ROOM = 1_500_000
"""Maximum number of characters of all pictures in the page."""


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
    """Paths by name."""


@dataclass(frozen=True)
class ShownCell:
    """The artifacts of a cell in the page."""

    caption: str
    addresses: Mapping[str, str]
    """By name: a ``data:`` address if the artifact is embedded, else the address of a file beside the page."""


def show(directory: Path, cells: Iterable[CellFiles]) -> dict[tuple[str, str], list[ShownCell]]:
    """The artifacts of the page in ``directory`` by (task, label), first replicates and largest n first.

    Files that do not fit into the page are copied to ``directory/artifacts``. Cells whose identity and files whose
    ending no learner's have are left out. Raises ``OutputError``.
    """
    shown: dict[tuple[str, str], list[ShownCell]] = {}
    left = ROOM
    for cell in sorted(cells, key=lambda cell: (cell.replicate, -cell.n, cell.d, cell.task, cell.label)):
        addresses = {}
        if not _CELL.fullmatch(cell.cell):
            continue
        for name, file in sorted(cell.files.items()):
            if not name.endswith(ENDINGS):
                continue
            content = file.read_bytes()
            address = f"data:image/png;base64,{b64encode(content).decode()}" if name.endswith(".png") else ""
            if 0 < len(address) <= left:
                left -= len(address)
            else:
                address = _copied(directory, cell.cell, name, content)
            addresses[name] = address
        caption = f"d = {cell.d}, n = {cell.n:,}, replicate {cell.replicate}"
        shown.setdefault((cell.task, cell.label), []).append(ShownCell(caption, addresses))
    return shown


def _copied(directory: Path, cell: str, name: str, content: bytes) -> str:
    """Copy a file beside the page and return its address."""
    file = inside(directory, "artifacts", cell, name)
    make_folder(file.parent)
    if not file.exists() or file.read_bytes() != content:
        write_file(file, content)
    return quote(f"artifacts/{cell}/{name}")
