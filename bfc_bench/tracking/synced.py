"""Remembers which rows MLflow is known to hold, so that a run without work ends without asking it.

MLflow takes seconds to import and to search. What is remembered is a note in the store directory; ``bfc-bench sync``
does not trust it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from bfc_bench.config import digest
from bfc_bench.errors import OutputError
from bfc_bench.files import make_folder, write_file
from bfc_bench.masking import masked
from bfc_bench.store.row import Row
from bfc_bench.tracking.database import database_file

FILE = "mlflow-synced.json"


def holds(store_dir: Path, uri: str, suite: str, version: int, rows: Sequence[Row]) -> bool:
    """Whether the last complete sync of the suite version went to ``uri``, with exactly these rows, by this release."""
    database = database_file(uri)
    if database is not None and not database.exists():
        return False
    return _notes(store_dir).get(f"{suite}@{version}") == _note(uri, rows)


def note(store_dir: Path, uri: str, suite: str, version: int, rows: Sequence[Row]) -> None:
    """Remember that MLflow at ``uri`` holds these rows. A directory that cannot be written is left as it is."""
    notes = {**_notes(store_dir), f"{suite}@{version}": _note(uri, rows)}
    try:
        make_folder(store_dir, private=True)
        write_file(store_dir / FILE, (json.dumps(notes, indent=1) + "\n").encode(), private=True)
    except OutputError:
        return


def _note(uri: str, rows: Sequence[Row]) -> dict[str, str]:
    made = sorted((row.cell, row.finished_at) for row in rows)
    return {"uri": masked(uri), "rows": digest([installed("bfc-bench"), made])}


def _notes(store_dir: Path) -> dict[str, Any]:
    try:
        found = json.loads((store_dir / FILE).read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
