"""Opens a store and finds its suites by name, version or path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bfc_bench.errors import StoreError, UnknownSuite, UsageError, suggest
from bfc_bench.plugins.manager import Plugins, load_plugins
from bfc_bench.store import DEFAULT_STORE
from bfc_bench.store.store import Store
from bfc_bench.store.unpacking import store_folder
from bfc_bench.stored_suite.suite import StoredSuite
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Suite
from bfc_bench.suite.read import read_suite


def open_store(directory: str | Path = DEFAULT_STORE, *, plugins: Plugins | None = None) -> OpenStore:
    """Open results for reading: ``open_store("results")["smoke"]`` is a ``StoredSuite``.

    ``directory`` is the folder of a store, or a bundle: the zip file that ``bfc-bench bundle`` writes. Use it in a
    ``with`` statement, or call ``close()``. Raises ``StoreError`` if there is no store.
    """
    return OpenStore(store_folder(Path(directory)), plugins or load_plugins())


def reference_results(suite: str) -> StoredSuite:
    """The published results of a suite, to lay your own beside: rows, curves, N*, claims.

    They are in a bundle ``reference/SUITE.zip`` beside the file of the suite. The README of ``suites/reference`` says
    which suites of bfc-bench have one; ``open_store`` reads any other bundle.

    Args:
        suite: Name of the suite.

    Raises:
        UnknownSuite: The suite is unknown or has no published results.
        StoreError: The bundle cannot be read.
    """
    plugins = load_plugins()
    if suite not in plugins.suites:
        raise UnknownSuite(f"there is no suite {suite!r}.{suggest(suite, plugins.suites)}")
    folder = plugins.suites.get(suite).parent / "reference"
    bundle = folder / f"{suite}.zip"
    if not bundle.is_file():
        there = ", ".join(sorted(other.stem for other in folder.glob("*.zip"))) or "none"
        raise UnknownSuite(
            f"{suite} comes without published results (suites with them: {there}). Open a bundle that has them, such "
            f"as docs/runs/seed-0.zip of the source: open_store(...)[{suite!r}]."
        )
    return open_store(bundle, plugins=plugins)[suite]


class OpenStore(Mapping[str, "StoredSuite"], AbstractContextManager["OpenStore"]):
    """The suites of an open store, by path or by name; ``smoke`` is the version of its file, ``smoke@1`` version 1."""

    def __init__(self, directory: Path, plugins: Plugins) -> None:
        self.store, self.plugins = Store(directory), plugins

    def __getitem__(self, suite: str | Path) -> StoredSuite:
        """The results of a suite. Raises ``UnknownSuite``, a ``KeyError``, if there are none or the name is unknown."""
        stored = self.store.suites()
        name, version, path, model = self._find(str(suite), stored)
        if (name, version) not in stored:
            lacks = f"The store in {self.store.directory} has no run of {name}@{version}"
            more = f"`bfc-bench run {suite}` makes one" if path else f"it holds {', '.join(self) or 'no suite'}"
            raise UnknownSuite(f"{lacks}; {more}.")
        return StoredSuite(self.store, self.plugins, name, version, path, model)

    def _find(self, suite: str, stored: Sequence[tuple[str, int]]) -> tuple[str, int, Path | None, Suite | None]:
        """Name, version, file and content of a suite; without a file if only the store knows it."""
        name, _, version = suite.rpartition("@")
        if name and version.isdecimal():
            return name, int(version), None, None
        versions = [version for name, version in stored if name == suite]
        if versions and suite not in self.plugins.suites:
            return suite, max(versions), None, None
        try:
            path = suite_path(suite, self.plugins.suites)
            model = read_suite(path)
        except UsageError as error:
            raise UnknownSuite(f"{error} {self._contents}") from None
        return model.name, model.version, path, model

    @property
    def _contents(self) -> str:
        return f"The store in {self.store.directory} holds {', '.join(self) or 'no suite'}."

    def of(self, suite: Suite) -> StoredSuite:
        """The results of a ``Suite``, whose own claims are judged instead of those of a file."""
        return StoredSuite(self.store, self.plugins, suite.name, suite.version, model=suite)

    def only(self) -> StoredSuite:
        """The only suite of the store. Raises ``StoreError`` with their names if there are none or several."""
        names = list(self)
        if len(names) != 1:
            raise StoreError(f"{self._contents} {'Name one of them.' if names else 'Run one first.'}")
        return self[names[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(f"{name}@{version}" for name, version in sorted(self.store.suites()))

    def __len__(self) -> int:
        return len(self.store.suites())

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store {self.store.directory}: {', '.join(self) or 'empty'}>"

    def _repr_html_(self) -> str:
        import pandas as pd

        suites = [(name, len(suite.columns()), len(suite.sessions)) for name, suite in self.items()]
        return str(pd.DataFrame(suites, columns=["suite", "cells", "runs"])._repr_html_())
