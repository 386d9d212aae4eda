"""``bfc-bench site``: write a static web site about several suites and stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bfc_bench.cli.options import STORE

if TYPE_CHECKING:
    from bfc_bench.errors import BenchError
    from bfc_bench.extras.site.page import SiteEntry
    from bfc_bench.stored_suite import OpenStore, StoredSuite

REASON = 500
"""Length to which the reason why a store or suite is not shown is shortened, in characters."""


def site(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write the site to.")],
    suites: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUITE...", help="Suites by name, NAME@VERSION or path; by default all."),
    ] = None,
    store: Annotated[
        list[Path] | None,
        typer.Option("--store", metavar="DIR", envvar="BFC_BENCH_STORE", help="Folder of a store. Repeatable."),
    ] = None,
) -> None:
    """Write a static web site about the suites of one or more stores.

    An existing index is replaced; reports that are up to date are kept. A store or suite that cannot be shown is named
    on the index and on stderr. The others are written, and the exit code is 1.
    """
    from bfc_bench.errors import UsageError
    from bfc_bench.extras.site.page import write_site
    from bfc_bench.stored_suite import open_store

    if directory.exists() and not directory.is_dir():
        raise UsageError(f"DIR must be a folder. {directory} is a file.")
    failures = _Failures()
    paths = _named(store or [STORE])
    with ExitStack() as opened:
        stores: dict[str, OpenStore] = {}
        for name, path in paths.items():
            with failures.kept(f"store {name}"):
                stores[name] = opened.enter_context(open_store(path))
        entries = []
        chosen = _chosen(stores, suites or (), failures)
        repeated = {key for key, count in Counter(key for _, key in chosen).items() if count > 1}
        for (name, key), suite in chosen.items():
            with failures.kept(f"{key} in store {name}" if len(paths) > 1 else key):
                address = f"{name}/{key}" if key in repeated else key
                entries.append(_entry(directory, name if len(paths) > 1 else "", address, suite))
    if not entries:
        raise failures.error()
    typer.echo(f"Site: {write_site(directory, entries, failures.omissions)}")
    if failures.omissions:
        raise typer.Exit(1)


class _Failures:
    """The stores and suites that cannot be shown."""

    def __init__(self) -> None:
        self.omissions: dict[str, str] = {}
        """Why each of them cannot be shown."""
        self._errors: list[Exception] = []

    @contextmanager
    def kept(self, what: str) -> Iterator[None]:
        """Keep an exception of the block as the reason why ``what`` cannot be shown, and print it in one line."""
        from bfc_bench.errors import BenchError, describe_error, error_text
        from bfc_bench.utils.escape_control import visible
        from bfc_bench.utils.masking import masked

        try:
            yield
        except Exception as error:
            text = error_text(error) if isinstance(error, BenchError) else describe_error(error)
            what, reason = visible(what, REASON), " ".join(visible(masked(text), REASON).split())
            self._errors.append(error)
            self.omissions[what] = reason
            typer.echo(f"bfc-bench: {what} is not on the site: {reason}", err=True)

    def error(self) -> BenchError:
        """The exception to raise if nothing can be shown."""
        from bfc_bench.errors import BenchError, StoreError

        codes = {error.exit_code if isinstance(error, BenchError) else 1 for error in self._errors}
        message = "None of the suites can be shown; the pages that were there are unchanged."
        return StoreError(message) if codes == {StoreError.exit_code} else BenchError(message)


def _named(stores: Sequence[Path]) -> Mapping[str, Path]:
    """Stores by the names of their folders, with as many parents as needed to be unique; duplicates are dropped."""
    plain = {path: path.with_suffix("") if path.is_file() else path for path in (path.resolve() for path in stores)}
    named = Counter(plain.values())  # a bundle beside its store keeps its suffix
    paths = {path: (name if named[name] == 1 else path).parts[1:] for path, name in plain.items()}  # no root
    depth = 1
    while len({parts[-depth:] for parts in paths.values()}) < len(paths):
        depth += 1
    return {"-".join(parts[-depth:]): path for path, parts in paths.items()}


def _chosen(
    stores: Mapping[str, OpenStore], suites: Sequence[str], failures: _Failures
) -> dict[tuple[str, str], StoredSuite]:
    """The requested suites, or all, by name of the store and ``NAME@VERSION``.

    Raises ``StoreError`` if a requested suite is in none of the stores, or if they hold no suite.
    """
    from bfc_bench.errors import StoreError

    chosen: dict[tuple[str, str], StoredSuite] = {}
    for requested in suites:
        missing: list[str] = []
        for name, opened in stores.items():
            try:
                suite = opened[requested]
                chosen[name, f"{suite.name}@{suite.version}"] = suite
            except StoreError as error:
                missing.append(str(error))
        if missing and len(missing) == len(stores):
            raise StoreError("\n".join(missing))
    if not suites:
        keys: list[tuple[str, str]] = []
        for name, opened in stores.items():
            with failures.kept(f"store {name}"):
                keys += [(name, key) for key in opened]
        if not keys and not failures.omissions:
            folders = ", ".join(str(opened.store.directory) for opened in stores.values())
            raise StoreError(f"No suite has been run into {folders}. Run one: bfc-bench run SUITE --store DIR.")
        for name, key in keys:
            with failures.kept(f"{key} in store {name}" if len(stores) > 1 else key):
                chosen[name, key] = stores[name][key]
    return chosen


def _entry(directory: Path, store: str, address: str, suite: StoredSuite) -> SiteEntry:
    """The entry of a suite on the site; writes its report if that is missing or out of date."""
    from bfc_bench.extras.site.page import SiteEntry
    from bfc_bench.utils.files import inside

    folder = inside(directory, address)
    entry = SiteEntry.of(store, address, suite.definition, suite.columns(), suite.claims(), suite.sessions)
    if not suite.is_shown_in(folder):
        suite.report(folder)
        typer.echo(str(directory / address / "report.html"))
    return entry
