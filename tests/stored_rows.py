"""Reads the rows of a store and closes it, because Python 3.13 warns of an open database."""

from pathlib import Path

from bfc_bench.store.row import Row
from bfc_bench.store.store import Store


def stored_rows(folder: Path, suite: str = "tiny", version: int = 1) -> list[Row]:
    """The rows of a suite."""
    with Store(folder) as store:
        return list(store.rows(suite, version))
