"""Records in the store which rows MLflow has, so that runs and syncs without work need not import MLflow.

Importing and searching MLflow takes seconds. A run trusts the note. ``bfc-bench sync``, which repairs what MLflow has
lost, trusts it only if MLflow's database is a SQLite file that has not changed since.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, TypeAlias

from bfc_bench.errors import OutputError
from bfc_bench.extras.mlflow.database import database_file
from bfc_bench.store.row import Row
from bfc_bench.utils.files import make_folder, write_file
from bfc_bench.utils.masking import masked
from bfc_bench.utils.plain_json import digest

FILE = "mlflow-synced.json"
STORE = "store"
"""Name of the store's id among the notes, which are by ``suite@version``."""
FinishTimes: TypeAlias = Sequence[tuple[str, float | None]]
"""Sorted cells with the times of their rows, as in ``Store.finish_times``."""


def is_current(store_dir: Path, uri: str, suite: str, version: int, rows: Sequence[Row]) -> bool:
    """Whether the last complete sync of a suite by this release logged exactly these rows."""
    database = database_file(uri)
    if database is not None and not database.exists():
        return False
    known = _notes(store_dir).get(f"{suite}@{version}", {})
    return {name: known.get(name) for name in ("uri", "rows")} == _note(uri, finish_times(rows))


def note_rows(store_dir: Path, uri: str, suite: str, version: int, rows: Sequence[Row]) -> None:
    """Record that MLflow has these rows; does nothing if the folder cannot be written."""
    _write(store_dir, f"{suite}@{version}", _note(uri, finish_times(rows)))


def store_id(store_dir: Path) -> str:
    """The store's id in MLflow, made at random by the first sync; from its path if the folder cannot be written."""
    known = _notes(store_dir).get(STORE)
    if not isinstance(known, str):
        _write(store_dir, STORE, secrets.token_hex(8))
        known = _notes(store_dir).get(STORE)
    return known if isinstance(known, str) else digest(str(store_dir.resolve()))


def unchanged_curves(store_dir: Path, uri: str, suite: str, version: int, times: FinishTimes, page: str) -> int | None:
    """The number of curves in MLflow if nothing has changed since ``note_state``; None if MLflow must be searched."""
    known = _notes(store_dir).get(f"{suite}@{version}", {})
    state = _state(uri)
    if state is None or {**known, "curves": 0} != _note(uri, times) | {"curves": 0, "page": page, "state": state}:
        return None
    return int(known["curves"])


def note_state(store_dir: Path, uri: str, suite: str, version: int, times: FinishTimes, page: str, curves: int) -> None:
    """Record what MLflow has, with the state of its database."""
    if (state := _state(uri)) is not None:
        _write(store_dir, f"{suite}@{version}", _note(uri, times) | {"curves": curves, "page": page, "state": state})


def finish_times(rows: Iterable[Row]) -> FinishTimes:
    """Sorted cells with the times of their rows."""
    return sorted((row.cell, row.finished_at) for row in rows)


def _state(uri: str) -> str | None:
    """A text that changes whenever a SQLite file is written; None for other addresses and during a write.

    Bytes 24 to 27 of the file count its changes, except those in a write-ahead log
    (https://www.sqlite.org/fileformat.html, 1.3.7).
    """
    file = database_file(uri)
    if file is None or any(file.with_name(file.name + log).exists() for log in ("-journal", "-wal")):
        return None
    try:
        with file.open("rb") as database:
            return f"{os.fstat(database.fileno()).st_size} {database.read(28)[24:].hex()}"
    except OSError:
        return None


def _write(store_dir: Path, name: str, known: Mapping[str, Any] | str) -> None:
    notes = {**_notes(store_dir), name: known}
    try:
        make_folder(store_dir, private=True)
        write_file(store_dir / FILE, (json.dumps(notes, indent=1) + "\n").encode(), private=True)
    except OutputError:
        return


def _note(uri: str, times: FinishTimes) -> dict[str, Any]:
    return {"uri": masked(uri), "rows": digest([installed("bfc-bench"), times])}


def _notes(store_dir: Path) -> dict[str, Any]:
    try:
        notes = json.loads((store_dir / FILE).read_text())
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}
