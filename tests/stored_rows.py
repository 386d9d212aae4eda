"""What a store holds, read and closed: Python 3.13 warns of a database that is left open."""

from pathlib import Path

from bfc_bench.store.row import Row
from bfc_bench.store.store import Store


def stored_rows(folder: Path, suite: str = "tiny", version: int = 1) -> list[Row]:
    """The rows of a suite."""
    with Store(folder) as store:
        return list(store.rows(suite, version))
