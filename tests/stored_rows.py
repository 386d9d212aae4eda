"""Reads the rows of a store and closes it, because Python 3.13 warns of an open database."""

from pathlib import Path

from bfc_bench import Row, Verdict, open_store
from bfc_bench.store import DEFAULT_STORE
from bfc_bench.store.store import Store


def stored_rows(folder: Path, suite: str = "tiny", version: int = 1) -> list[Row]:
    """The rows of a suite."""
    with Store(folder) as store:
        return list(store.rows(suite, version))


def read_results(suite: str | Path, *, store: str | Path = DEFAULT_STORE, every: bool = False) -> list[Row]:
    """The rows of a suite that is named, or whose file is given."""
    with open_store(store) as results:
        return results[str(suite)].rows(every=every)


def judge_claims(suite: str | Path, *, store: str | Path = DEFAULT_STORE) -> list[Verdict]:
    """A verdict for each claim of a suite."""
    with open_store(store) as results:
        return results[str(suite)].claims()
