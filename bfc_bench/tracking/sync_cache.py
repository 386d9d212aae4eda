"""Remembers which rows MLflow is known to hold, so that a run or a sync without work ends without asking it.

MLflow takes seconds to import and to search. What is remembered is a note in the store directory. A run trusts it;
``bfc-bench sync``, which repairs what MLflow has lost, trusts it only where MLflow's database is a file that nobody has
written since: SQLite counts the transactions that changed a file in the file itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, TypeAlias

from bfc_bench.errors import OutputError
from bfc_bench.store.row import Row
from bfc_bench.tracking.database import database_file
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.masking import masked
from bfc_bench.utils.plain_json import digest

FILE = "mlflow-synced.json"
Made: TypeAlias = Sequence[tuple[str, float | None]]
"""Cells in order, and when their rows were made, as ``Store.made`` says."""


def holds(store_dir: Path, uri: str, suite: str, version: int, rows: Sequence[Row]) -> bool:
    """Whether the last complete sync of the suite version went to ``uri``, with exactly these rows, by this release."""
    database = database_file(uri)
    if database is not None and not database.exists():
        return False
    known = _notes(store_dir).get(f"{suite}@{version}", {})
    return {name: known.get(name) for name in ("uri", "rows")} == _note(uri, made_by(rows))


def note(store_dir: Path, uri: str, suite: str, version: int, rows: Sequence[Row]) -> None:
    """Remember that MLflow at ``uri`` holds these rows. A directory that cannot be written is left as it is."""
    _write(store_dir, f"{suite}@{version}", _note(uri, made_by(rows)))


def untouched(store_dir: Path, uri: str, suite: str, version: int, made: Made, page: str) -> int | None:
    """The number of curves that MLflow holds where nothing has changed since ``seen``; None where it must be asked."""
    known = _notes(store_dir).get(f"{suite}@{version}", {})
    state = _state(uri)
    if state is None or {**known, "curves": 0} != _note(uri, made) | {"curves": 0, "page": page, "state": state}:
        return None
    return int(known["curves"])


def seen(store_dir: Path, uri: str, suite: str, version: int, made: Made, page: str, curves: int) -> None:
    """Remember that MLflow holds ``curves`` curves of rows made as ``made`` says, the report of key ``page``, and in
    which state its database is."""
    if (state := _state(uri)) is not None:
        _write(store_dir, f"{suite}@{version}", _note(uri, made) | {"curves": curves, "page": page, "state": state})


def made_by(rows: Iterable[Row]) -> Made:
    """When each of the rows was made, by cell."""
    return sorted((row.cell, row.finished_at) for row in rows)


def _state(uri: str) -> str | None:
    """What changes whenever a SQLite file is written; None for other addresses, and while somebody writes.

    Bytes 24 to 27 of the file count its changes (https://www.sqlite.org/fileformat.html, 1.3.7), those of a write-ahead
    log left out.
    """
    file = database_file(uri)
    if file is None or any(file.with_name(file.name + log).exists() for log in ("-journal", "-wal")):
        return None
    try:
        with file.open("rb") as database:
            return f"{os.fstat(database.fileno()).st_size} {database.read(28)[24:].hex()}"
    except OSError:
        return None


def _write(store_dir: Path, suite: str, known: Mapping[str, Any]) -> None:
    notes = {**_notes(store_dir), suite: known}
    try:
        make_folder(store_dir, private=True)
        write_file(store_dir / FILE, (json.dumps(notes, indent=1) + "\n").encode(), private=True)
    except OutputError:
        return


def _note(uri: str, made: Made) -> dict[str, Any]:
    return {"uri": masked(uri), "rows": digest([installed("bfc-bench"), made])}


def _notes(store_dir: Path) -> dict[str, Any]:
    try:
        found = json.loads((store_dir / FILE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
