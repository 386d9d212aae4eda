"""An open store: which suites it holds, and what a user may call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from bfc_bench.errors import StoreError, UnknownSuite, UsageError
from bfc_bench.plugins import Plugins, load_plugins
from bfc_bench.store import DEFAULT_STORE
from bfc_bench.store.store import Store
from bfc_bench.stored_suite.suite import StoredSuite
from bfc_bench.suite.find import suite_path
from bfc_bench.suite.model import Suite, read_suite


def open_store(directory: str | Path = DEFAULT_STORE, *, plugins: Plugins | None = None) -> OpenStore:
    """The results in a directory, for reading: ``open_store("results")["smoke"]`` is a ``StoredSuite``.

    A context manager; without ``with`` it is closed by ``close()`` or when it is forgotten. Raises ``StoreError`` where
    there is no store.
    """
    return OpenStore(Path(directory), plugins or load_plugins())


class OpenStore(Mapping[str, "StoredSuite"]):
    """The suites of an open store: by name, with the version of their file or as ``smoke@1``, or by path."""

    def __init__(self, directory: Path, plugins: Plugins) -> None:
        self.store, self.plugins = Store(directory), plugins

    def __getitem__(self, suite: str | Path) -> StoredSuite:
        """The suite's results. Raises ``UnknownSuite``, a ``KeyError``, if there are none or the name is unknown."""
        held = self.store.suites()
        name, version, path, model = self._find(str(suite), held)
        if (name, version) not in held:
            raise UnknownSuite(
                f"The store in {self.store.directory} has no run of {name}@{version}; "
                f"`bfc-bench run {suite}` makes one."
            )
        return StoredSuite(self.store, self.plugins, name, version, path, model)

    def _find(self, suite: str, held: Sequence[tuple[str, int]]) -> tuple[str, int, Path | None, Suite | None]:
        """Name and version, and the file of the suite with what it says: None for one known from the store alone."""
        name, _, version = suite.rpartition("@")
        if name and version.isdecimal():
            return name, int(version), None, None
        versions = [version for name, version in held if name == suite]
        if versions and suite not in self.plugins.suites:
            return suite, max(versions), None, None
        try:
            path = suite_path(suite, self.plugins.suites)
        except UsageError as error:
            raise UnknownSuite(str(error)) from None
        model = read_suite(path)
        return model.name, model.version, path, model

    def of(self, suite: Suite) -> StoredSuite:
        """The results of a suite that is at hand; its own claims are judged, not those of a file."""
        return StoredSuite(self.store, self.plugins, suite.name, suite.version, model=suite)

    def only(self) -> StoredSuite:
        """The suite of a store that holds one. Raises ``StoreError`` that names what it holds otherwise."""
        names = list(self)
        if len(names) != 1:
            held = f"holds {', '.join(names)}" if names else "holds no suite"
            raise StoreError(f"the store in {self.store.directory} {held}: name one.")
        return self[names[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(f"{name}@{version}" for name, version in sorted(self.store.suites()))

    def __len__(self) -> int:
        return len(self.store.suites())

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<store {self.store.directory}: {', '.join(self) or 'empty'}>"

    def _repr_html_(self) -> str:
        import pandas as pd

        suites = [(name, len(suite.columns()), len(suite.sessions)) for name, suite in self.items()]
        return str(pd.DataFrame(suites, columns=["suite", "cells", "runs"])._repr_html_())
